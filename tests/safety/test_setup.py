"""Forks: what the parent had open is left to the parent, and what the child opened itself is kept."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

import pytest
from django.db import connection, transaction

from jobs.models import Operation
from jobs.safety.setup import prepare_process
from tests.support.op_ledger import submitted

pytestmark = pytest.mark.django_db(transaction=True)


def in_child(body: Callable[[], None]) -> int:
    """Run it in a fork; 0 when it went well."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            body()
            code = 0
        except BaseException:
            # Whatever it is, the child must not go on as a second test run.
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_takes_connections_of_its_own_and_leaves_the_parents_open():
    submitted()
    inherited = connection.connection

    def child():
        prepare_process()
        assert Operation.objects.count() == 1
        assert connection.connection is not inherited

    assert in_child(child) == 0
    assert (Operation.objects.count(), connection.connection is inherited) == (1, True)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_transaction_that_a_child_has_begun_itself_goes_on_when_its_first_job_is_prepared():
    inherited = connection.connection

    def child():
        connection.connection = None
        with transaction.atomic():
            submitted()
            own = connection.connection
            prepare_process()
            assert connection.connection is own is not inherited
            assert connection.in_atomic_block
        assert Operation.objects.count() == 1

    assert in_child(child) == 0
    assert Operation.objects.count() == 1
