from __future__ import annotations

import pytest

from tests.support.op_ledger import clock_in_hand


@pytest.fixture
def clock():
    """The ledger's clock stands still, and goes forward as the test says."""
    with clock_in_hand() as clock:
        yield clock
