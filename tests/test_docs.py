"""The documents say what is so: names, codes, settings and links are there, and what they show as code runs."""

from __future__ import annotations

import ast
import inspect
import re
import sqlite3
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import structlog
from django.conf import settings as django_settings
from django.db import connection, transaction
from rq import Queue, SimpleWorker

import jobs.safety
from jobs.domain.operations import AttemptOutcome, DedupCause, EffectState, EffectStatus, OperationStatus
from jobs.models import Operation
from tests.support.real_rq import ROOT

DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGE, API, PROTOCOL = ((ROOT / "docs" / name).read_text() for name in ("safe-jobs.md", "api.md", "protocol.md"))
ELSEWHERE = "## Without Django, without opsboard"
RULES = [ROOT / "jobs/domain" / name for name in ("operation_rules.py", "effect_rules.py")]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, its head left out."""
    lines = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].splitlines()
    table = [line for line in lines if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def words_in_first_cell(text: str, heading: str) -> list[str]:
    return [row[0].strip("`") for row in rows(text, heading)]


# api.md ---------------------------------------------------------------------------------------------------------------


def described() -> dict[str, str]:
    """Each name that has a heading, with the call that stands below it."""
    return dict(re.findall(r"^### `(\w+)`\n\n    (.+)$", API, re.MULTILINE))


def test_every_public_name_is_described_and_no_other():
    assert sorted(described()) == sorted(jobs.safety.__all__)


@pytest.mark.parametrize("name", sorted(jobs.safety.__all__))
def test_a_name_is_described_with_its_own_parameters(name):
    shown = ast.parse(f"def {described()[name]}: ...").body[0]
    assert isinstance(shown, ast.FunctionDef)
    given = shown.args
    names = [one.arg for one in (*given.args, *([given.vararg] if given.vararg else []), *given.kwonlyargs)]
    assert names == parameters_of(getattr(jobs.safety, name))


def parameters_of(thing: Any) -> list[str]:
    try:
        return list(inspect.signature(thing).parameters)
    except ValueError:
        # An exception with the constructor that they all have.
        return ["args"]


# protocol.md ----------------------------------------------------------------------------------------------------------


def test_every_state_is_in_its_table():
    assert words_in_first_cell(PROTOCOL, "An operation") == [state.value for state in OperationStatus]
    assert sorted(words_in_first_cell(PROTOCOL, "An attempt")) == sorted(AttemptOutcome)
    assert words_in_first_cell(PROTOCOL, "Why a repeat was skipped") == list(DedupCause)
    effects = PROTOCOL.partition("## An effect\n")[2].partition("\n## ")[0]
    assert set(EffectStatus) <= set(re.findall(r"`(\w+)`", effects))


def test_the_table_has_the_codes_of_the_rules_row_by_row():
    written = [(row[0], row[1].strip("`")) for row in rows(PROTOCOL, "The table")]
    assert sorted(written) == sorted(codes_of_the_rules())


def codes_of_the_rules() -> set[tuple[str, str]]:
    """(row, code) of each Decision in the rules, and of the two rows that are made in one place."""
    found = set()
    for path in RULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            texts = [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
            named = {one.arg: str(one.value.value) for one in node.keywords if isinstance(one.value, ast.Constant)}
            if node.func.id == "Decision" and len(texts) >= 2:
                found.add((texts[-1], texts[0]))
            elif "code_if_open" in named:
                found |= {(named["rule"], named["code"]), (named["rule"], named["code_if_open"])}
    return found


def test_how_often_the_other_side_is_asked_is_what_the_rules_allow():
    allowed = EffectState.__dataclass_fields__["probes_allowed"].default
    assert allowed == 5
    assert "asked five times" in PROTOCOL and "after five of these" in API


# safe-jobs.md: the jobs -----------------------------------------------------------------------------------------------


class World:
    """Everybody on the other side, who writes down what was asked of them."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self._do(name, *args)

    def _do(self, name: str, *args: Any) -> Any:
        self.calls[f"{name} {args[0] if args else ''}".strip()] += 1
        return _Answer(f"{name}-1")


class _Answer(str):
    """An id, or an answer that has one."""

    is_final = True

    @property
    def id(self) -> str:
        return str(self)

    def raise_for_status(self) -> None:
        """All went well."""

    def json(self) -> dict[str, str]:
        return {"id": str(self)}


@dataclass
class Shop:
    """The page's code as a module, and what its jobs do."""

    module: ModuleType
    world: World
    queues: list[Queue]

    def run(self, name: str, *args: Any) -> Operation:
        """Enqueue one of the page's jobs twice, and run all there is."""
        job = getattr(self.module, name)
        for _ in range(2):
            job.delay(*args)
        SimpleWorker(self.queues, connection=self.queues[0].connection).work(burst=True)
        return Operation.objects.get(operation_id=job.operation_id(*args))


@pytest.fixture
def structlog_as_it_is():
    before = structlog.get_config()
    yield
    structlog.configure(**before)


QUEUES = ("billing", "mail", "exports", "reports")


@pytest.fixture
def shop(redis_client, tmp_path, monkeypatch, structlog_as_it_is) -> Shop:
    """All that the page shows of a Django project, run from top to bottom in one module."""
    module, world = ModuleType("docs_safe_jobs"), World()
    invoices = SimpleNamespace(create=lambda **_fields: SimpleNamespace(pk=7))
    module.__dict__.update({name: getattr(jobs.safety, name) for name in jobs.safety.__all__})
    module.__dict__.update(
        redis=redis_client, gateway=world, bank=world, mailer=world, http=world, folder=tmp_path,
        processors=structlog.get_config()["processors"],
        transaction=transaction, structlog=structlog, InvoiceInvalid=ValueError,
        Invoice=SimpleNamespace(objects=invoices, overdue=lambda day: [SimpleNamespace(pk=1), SimpleNamespace(pk=2)]),
        Day=SimpleNamespace(all_of=lambda report_id: [SimpleNamespace(add_up=lambda: world.add_up(report_id))] * 2),
        Report=SimpleNamespace(objects=SimpleNamespace(filter=lambda **_: SimpleNamespace(update=world.tell))),
        Request=SimpleNamespace(objects=SimpleNamespace(filter=lambda **_: SimpleNamespace(update=world.close))),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "docs_safe_jobs", module)
    for number, block in enumerate(blocks(PAGE.partition(ELSEWHERE)[0], "python")):
        exec(compile(block, f"docs/safe-jobs.md, block {number}", "exec"), module.__dict__)
    return Shop(module, world, [Queue(name, connection=redis_client) for name in QUEUES])


@pytest.mark.django_db(transaction=True)
def test_what_the_page_submits_is_accepted_and_done(shop):
    submitted = Operation.objects.get(operation_id="invoice:7")
    assert (submitted.origin, submitted.status) == ("submitted", "queued")
    assert shop.run("send_invoice", 7).status == "completed"
    assert shop.world.calls["send 7"] == 1


JOBS = {
    "send_invoice": (8, ["send 8"]),
    "send_reminders": ("2026-03-14", ["send 1", "send 2"]),
    "close_request": (9, ["close"]),
    "write_export": (10, []),
    "charge": (11, ["charge 11"]),
    "refund": (12, ["refund 12"]),
    "place_order": (13, ["post /orders"]),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", sorted(JOBS))
def test_a_job_of_the_page_does_its_work_once_when_it_is_enqueued_twice(shop, name):
    argument, calls = JOBS[name]
    operation = shop.run(name, argument)
    assert operation.status == "completed", list(operation.attempts.values_list("error_class", "error_line"))
    assert [shop.world.calls[call] for call in calls] == [1] * len(calls)
    assert operation.effects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_long_job_of_the_page_says_how_far_it_is_and_on_its_last_attempt_why_not(shop, monkeypatch):
    done = shop.run("build_report", 14)
    assert (done.progress_done, done.progress_total, shop.world.calls["tell"]) == (2, 2, 0)
    monkeypatch.setattr(shop.world, "add_up", lambda report_id: 1 / 0, raising=False)
    shop.module.build_report.submit(15)
    Operation.objects.filter(operation_id="report:15").update(max_attempts=1)
    failed = shop.run("build_report", 15)
    assert (failed.status, shop.world.calls["tell"]) == ("failed", 1)


@pytest.mark.django_db(transaction=True)
def test_all_jobs_of_the_page_are_tried(shop):
    own = {
        name: value for name, value in vars(shop.module).items() if getattr(value, "__module__", "") == "docs_safe_jobs"
    }
    shown = [name for name, value in own.items() if hasattr(value, "delay")]
    assert sorted(shown) == sorted([*JOBS, "build_report"])


@pytest.mark.django_db(transaction=True)
def test_the_probe_of_the_page_answers_in_our_words(shop):
    assert isinstance(shop.module.find_charge(SimpleNamespace(key="k")), jobs.safety.Found)


# safe-jobs.md: elsewhere ----------------------------------------------------------------------------------------------


class Elsewhere:
    """The ten lines' database: the page's own table, with a commit after each step."""

    def __init__(self, repeatable: bool) -> None:
        self.sql = sqlite3.connect(":memory:", isolation_level=None)
        self.sql.row_factory = sqlite3.Row
        self.sql.executescript(blocks(PAGE, "sql")[0])
        self.may_be_repeated = lambda row: repeatable

    def find(self, operation_id, name):
        row = self.sql.execute("SELECT * FROM effects WHERE operation_id = ? AND name = ?", (operation_id, name))
        found = row.fetchone()
        return SimpleNamespace(**found) if found else None

    def begin(self, operation_id, name, attempt, key):
        values = (operation_id, name, "begun", key, attempt, "2026-03-14 15:09:26")
        columns = "operation_id, name, status, idem_key, attempt, begun_at"
        self.sql.execute(f"INSERT OR REPLACE INTO effects ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)

    def complete(self, operation_id, name, attempt, external_id):
        done = "UPDATE effects SET status = 'completed', external_id = ? WHERE operation_id = ? AND name = ?"
        self.sql.execute(done, (external_id, operation_id, name))


@pytest.fixture
def ten_lines():
    """The function of the page."""
    page: dict[str, Any] = {"AskSomebody": KeyError}
    for block in blocks(PAGE.partition(ELSEWHERE)[2], "python"):
        exec(block, page)
    return page["once"]


def test_the_ten_lines_call_once(ten_lines):
    database, keys = Elsewhere(repeatable=False), []
    results = [ten_lines(database, "invoice:7", "send", lambda key: keys.append(key) or "id-1", a, a) for a in "ab"]
    assert (results, keys) == (["id-1", "id-1"], ["a"])


@pytest.mark.parametrize(("repeatable", "calls"), [(True, ["a", "a"]), (False, ["a"])], ids=["may", "may not"])
def test_after_a_crash_the_ten_lines_repeat_with_the_same_key_or_ask_somebody(ten_lines, repeatable, calls):
    database, keys = Elsewhere(repeatable), []

    def call(key):
        keys.append(key)
        if len(keys) == 1:
            raise OSError("killed in the middle")
        return "id-1"

    with pytest.raises(OSError, match="killed"):
        ten_lines(database, "invoice:7", "send", call, "a", "a")
    if repeatable:
        assert ten_lines(database, "invoice:7", "send", call, "b", "b") == "id-1"
    else:
        with pytest.raises(KeyError):
            ten_lines(database, "invoice:7", "send", call, "b", "b")
    assert keys == calls


@pytest.mark.django_db
def test_the_table_can_be_made_where_operations_are_kept():
    with connection.cursor() as cursor:
        cursor.execute(blocks(PAGE, "sql")[0])
        cursor.execute("DROP TABLE effects")


# All pages ------------------------------------------------------------------------------------------------------------


def test_the_settings_shown_are_those_that_there_are(settings):
    shown: dict[str, Any] = {}
    exec(blocks(PAGE, "python")[0], shown)
    assert all(hasattr(django_settings, name) for name in shown if name.isupper())
    assert set(shown["INSTALLED_APPS"]) <= set(settings.INSTALLED_APPS)


@pytest.mark.parametrize("page", [*DOCS, ROOT / "README.md", ROOT / "ARCHITECTURE.md"], ids=lambda path: path.name)
def test_every_setting_make_target_and_file_that_is_named_exists(page):
    text = page.read_text()
    known = (ROOT / "README.md").read_text()
    assert [name for name in re.findall(r"OPSBOARD_[A-Z_]*[A-Z](?!\w*<)", text) if name not in known] == []
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= set(targets)


@pytest.mark.parametrize("page", [*DOCS, ROOT / "README.md"], ids=lambda path: path.name)
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\((?!https:)([^)]+)\)", page.read_text()):
        name, _, anchor = target.partition("#")
        file: Path = page.parent / name if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors_of(file.read_text()), target


def anchors_of(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_answers_are_ten():
    answers = PAGE.partition("## Ten questions before it goes live")[2].partition("\n## ")[0]
    assert re.findall(r"^(\d+)\. \*\*", answers, re.MULTILINE) == [str(number) for number in range(1, 11)]
