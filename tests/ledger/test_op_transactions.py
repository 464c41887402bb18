"""What must be committed before a call is made is committed, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import transaction

import jobs
from jobs.ledger import effects
from tests.support.op_ledger import claimed, plan

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def without_autocommit():
    """The connection begins a transaction by itself, and keeps it open."""
    transaction.set_autocommit(False)
    yield
    transaction.rollback()
    transaction.set_autocommit(True)


@pytest.fixture
def attempt():
    return claimed()


def test_no_effect_is_begun_where_nothing_would_be_committed(attempt, without_autocommit):
    with pytest.raises(RuntimeError, match="AUTOCOMMIT"):
        effects.begin(*attempt, plan())


def test_no_effect_is_begun_inside_another_transaction(attempt):
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        effects.begin(*attempt, plan())


def test_all_that_is_written_of_operations_is_written_in_transactions_of_their_own_database():
    """It need not be the database `default`, of which `transaction.atomic()` is."""
    folder = Path(jobs.__file__).parent
    sources = [*(folder / "ledger").glob("*.py"), *(folder / "observer").glob("*.py")]
    using_default = [one.name for one in sources if "transaction.atomic(" in one.read_text()]
    assert using_default == ["database.py"]
