"""The repository as a wheel, in an environment with what the wheel asks for and nothing else, and a project there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.install.environment import Project, database_of
from tests.support.real_rq import ROOT

BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built without a network: what pyproject.toml pins for that is what requirements-dev.txt has installed."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in BUILT_FROM:
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "jobs", source / "jobs", ignore=shutil.ignore_patterns("__pycache__"))
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target), str(source))
    return next(target.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """The interpreter of a new environment: the wheel, and links to the distributions that its metadata asks for."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin/python"
    site = next(folder.glob("lib/python*/site-packages"))
    _pip("--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    asked = metadata.PathDistribution(next(site.glob("*.dist-info"))).requires or []
    driver = ["psycopg", "psycopg-binary"] if os.environ.get("TEST_DATABASE_URL") else []
    for name in _closure([*asked, *driver]):
        _link(name, site)
    return python


@pytest.fixture(scope="module")
def project(environment, valkey, tmp_path_factory) -> Iterator[Project]:
    """The project, with its tables made."""
    folder = tmp_path_factory.mktemp("project") / "project"
    shutil.copytree(Path(__file__).parent / "project", folder)
    with database_of(folder) as database:
        environ = {
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "shop.settings",
            "REDIS_URL": valkey.url,
            "DATABASE": json.dumps(database),
        }
        made = Project(python=environment, folder=folder, environ=environ)
        made.manage("migrate", "--verbosity=0")
        yield made


def _pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def _closure(asked: list[str], found: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names of all distributions that these requirements end in, extras left out."""
    for requirement in map(Requirement, asked):
        is_wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if is_wanted and requirement.name not in found:
            assert requirement.specifier.contains(metadata.version(requirement.name)), str(requirement)
            found = _closure(metadata.requires(requirement.name) or [], (*found, requirement.name))
    return found


def _link(name: str, site: Path) -> None:
    ours = Path(sysconfig.get_path("purelib"))
    for top in sorted({file.parts[0] for file in metadata.files(name) or []} - {"..", "__pycache__"}):
        if not (site / top).exists():
            (site / top).symlink_to(ours / top)
