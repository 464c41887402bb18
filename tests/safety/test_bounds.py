"""However a job goes wrong, what is done by itself comes to an end (protocol, R16 to R18)."""

from __future__ import annotations

import pytest

from jobs.safety import Absent
from tests.safety import work

pytestmark = pytest.mark.django_db(transaction=True)


class Endless(BaseException):
    """Ends a test that would go on for ever."""


def test_a_call_that_never_answers_and_never_happens_is_made_as_often_as_allowed_and_no_more(declared, run_all):
    def give_no_answer(_handle):
        raise OSError("no answer") if len(work.CALLS) < 10 else Endless

    work.BEHAVIOUR |= {"checkable-5": give_no_answer, "probe": lambda _handle: Absent()}
    operation = declared["act"].submit("checkable", 5)
    run_all()
    operation.refresh_from_db()
    assert (operation.status, operation.reason_code, len(work.CALLS)) == ("failed", "attempts_exhausted", 3)
    assert "no answer" in operation.reason_text
    assert operation.effects.get().status == "released"
