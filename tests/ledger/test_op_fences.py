"""An attempt that was taken over and followed by another: it begins nothing, whatever the operation's state says."""

from __future__ import annotations

import pytest

from jobs.ledger import attempts, effects
from jobs.ledger.effects import Fenced
from jobs.models import Effect
from tests.support.op_ledger import claimed, plan, taken_over

pytestmark = pytest.mark.django_db


def test_nothing_is_begun_by_an_attempt_that_another_has_followed():
    operation, zombie = claimed()
    taken_over(operation)
    claimed()
    with pytest.raises(Fenced):
        effects.begin(operation, zombie, plan())
    assert not Effect.objects.exists()


def test_an_attempt_that_another_has_followed_holds_nothing():
    operation, zombie = claimed()
    assert attempts.holds(operation, zombie)
    taken_over(operation)
    _operation, follower = claimed()
    assert (attempts.holds(operation, zombie), attempts.holds(operation, follower)) == (False, True)
