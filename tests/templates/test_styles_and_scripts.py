"""The style sheets are all loaded, in a declared order; the scripts are few, small and write nothing."""

from __future__ import annotations

import re

import pytest

from tests.templates.files import BOOTSTRAP, ROOT, SCRIPTS, STYLES, TEMPLATES, name, source

MAIN = (ROOT / "static" / "css" / "main.css").read_text()
LINES_IN_ALL, LINES_PER_FILE = 600, 150


def test_every_style_sheet_is_loaded_once_in_a_declared_layer():
    loaded = re.findall(r'@import url\("([\w./-]+)"\) layer\((\w+)\);', MAIN)
    layers = re.findall(r"@layer ([\w, ]+);", MAIN)[0].split(", ")
    own = [path for path in STYLES if path.name not in ("main.css", "errors.css")]
    assert sorted((ROOT / "static" / "css" / path).resolve() for path, _ in loaded) == sorted([*own, BOOTSTRAP])
    assert {layer for _, layer in loaded} == set(layers)


@pytest.mark.parametrize("style", [*STYLES, BOOTSTRAP], ids=name)
def test_no_style_sheet_reaches_out_or_names_a_map_that_is_not_served(style):
    text = style.read_text()
    assert not re.search(r"url\([\"']?(https?:)?//", text)
    assert "sourceMappingURL" not in text


def test_bootstrap_comes_with_its_version_and_licence():
    version = re.findall(r"Bootstrap\s+v([\d.]+)", BOOTSTRAP.read_text())[0]
    assert f"Bootstrap {version}," in (BOOTSTRAP.parent / "VERSION.md").read_text()
    assert "MIT" in (BOOTSTRAP.parent / "LICENSE").read_text()


def test_the_scripts_stay_within_their_budget():
    lines = {path.name: len(path.read_text().splitlines()) for path in SCRIPTS}
    assert sum(lines.values()) <= LINES_IN_ALL
    assert max(lines.values()) <= LINES_PER_FILE


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_no_script_makes_markup_of_text_or_runs_text(script):
    markup = r"innerHTML\s*[+]?=|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment"
    assert not re.search(markup + r"|\beval\(|new Function", script.read_text())


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_no_script_writes_to_the_server(script):
    """Acts are forms that a person sends; no key and no timer sends one."""
    assert not re.search(
        r"\bfetch\(|XMLHttpRequest|sendBeacon|\.submit\(|requestSubmit|htmx\.ajax|\bPOST\b", script.read_text()
    )


def test_each_script_is_loaded_once_and_only_the_first_one_holds_the_page_up():
    base = next(template for template in TEMPLATES if template.name == "base.html")
    loaded = re.findall(r"<script src=\"{% static 'js/(\w+\.js)' %}\"( defer)?></script>", source(base))
    assert [defer for _, defer in loaded] == ["", *[" defer"] * (len(loaded) - 1)]
    assert sorted(script for script, _ in loaded) == [path.name for path in SCRIPTS]


def test_each_word_that_a_script_asks_for_stands_in_a_template():
    markup = "".join(source(template) for template in TEMPLATES)
    asked = {word for path in SCRIPTS for word in re.findall(r"\b(word[A-Z]\w+)\b", path.read_text())}
    names = re.findall(r"data-word-([\w-]+)=", markup)
    given = {"word" + "".join(part.title() for part in name.split("-")) for name in names}
    assert asked and asked <= given


def test_each_hook_that_a_script_asks_for_stands_in_a_template():
    markup = "".join(source(template) for template in TEMPLATES)
    asked = {hook for path in SCRIPTS for hook in re.findall(r"\[(data-[\w-]+)[\]=]", path.read_text())}
    made = {"data-show-rows", "data-zone", "data-when", "data-go"}  # by a script, and by the tags
    assert {hook for hook in asked - made if not re.search(rf"{hook}[\s=>]", markup)} == set()
