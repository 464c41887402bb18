"""An export takes the memory of a stage, however many rows it has. What a million rows take is measured in bench/."""

from __future__ import annotations

import tracemalloc

import pytest

from exports.models import Order
from exports.requesting import request_export
from exports.writing import ROWS_PER_STAGE
from tests.exports.shop import read, stock

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def build(exporter, run_jobs):
    """build(): export all orders there are; how many rows that were, and the most bytes that were held at once."""

    def build_it():
        export = request_export(exporter, "2025", "").export
        tracemalloc.start()
        try:
            run_jobs()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        return read(export.pk).rows, peak

    return build_it


def test_six_times_as_many_rows_take_no_more_memory(build):
    stock(12 * ROWS_PER_STAGE)
    Order.objects.update(note="a note of some length " * 20)
    few_end = Order.objects.order_by("placed_at")[2 * ROWS_PER_STAGE].placed_at
    # The first build in a process loads what later ones find loaded.
    build()
    most, held_by_most = build()
    Order.objects.filter(placed_at__gte=few_end).delete()
    few, held_by_few = build()
    assert (most, few) == (12 * ROWS_PER_STAGE, 2 * ROWS_PER_STAGE)
    assert held_by_most < 1.5 * held_by_few
