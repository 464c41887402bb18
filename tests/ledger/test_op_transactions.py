"""What must be committed before a call is made is committed, or refused."""

from __future__ import annotations

import pytest
from django.db import transaction

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
