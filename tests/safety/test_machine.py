from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.safety.machine import LedgerMachine
from tests.support.op_ledger import clock_in_hand

EXAMPLES = int(os.environ.get("TEST_MACHINE_EXAMPLES", "30"))
"""More find what few miss: a thousand take four minutes."""


@pytest.mark.django_db
def test_whatever_goes_wrong_in_whatever_order_nothing_is_done_twice_and_all_comes_to_an_end():
    profile = settings(
        max_examples=EXAMPLES,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    with clock_in_hand() as LedgerMachine.clock:
        run_state_machine_as_test(LedgerMachine, settings=profile)
