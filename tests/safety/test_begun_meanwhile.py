"""What an attempt finds out about an effect at the last moment before its call."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.ledger import effects as ledger
from tests.safety import work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def late_news(monkeypatch):
    """The attempt before reports its success just before this one begins the effect again."""
    begin = ledger.begin

    def begin_after_the_news(operation, attempt, plan, **options):
        row = ledger.find(operation, plan.name, plan.item)
        if row is not None:
            ledger.complete(row, row.begun_by, external_id="late")
        return begin(operation, attempt, plan, **options)

    monkeypatch.setattr(ledger, "begin", begin_after_the_news)


def test_what_turns_out_to_have_happened_is_not_called_again(declared, run_all, late_news):
    def break_off(handle):
        raise OSError("no answer")

    work.BEHAVIOUR["keyed-5"] = break_off
    operation = declared["act"].submit("keyed", 5)
    run_all()
    operation.refresh_from_db()
    assert (operation.status, work.CALLS) == ("completed", ["keyed-5"])
    assert operation.effects.get().external_id == "late"


def test_the_first_attempt_asks_nobody_whether_its_effect_was_begun_before(declared, run_all):
    declared["act"].submit("keyed", 5)
    with CaptureQueriesContext(connection) as asked:
        run_all()
    selects = [one["sql"] for one in asked if "opsboard_jobs_effect" in one["sql"] and one["sql"].startswith("SELECT")]
    assert len(selects) == 1, "only whether one is left begun at the end"


def test_an_effect_that_its_own_attempt_asks_for_twice_is_looked_up(declared, run_all):
    """In the same attempt the second once() of that name gets what the first one returned."""
    work.BEHAVIOUR["touch"] = lambda order: [work.once_more(order), work.once_more(order)]
    operation = declared["touch"].submit(5)
    run_all()
    operation.refresh_from_db()
    assert (operation.status, work.CALLS) == ("completed", ["touch-5", "more-5"])
