"""P20: formulas in the CSV file. No text of an order is one, and every text can be had back."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from exports.csv_cells import original_text
from exports.files import path_of
from exports.models import Order
from exports.requesting import request_export
from exports.writing import COLUMNS
from tests.exports.conftest import exporter, queues, run_jobs  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = (
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://127.0.0.1:9/x","open")',
    " =1",
    ";=1",
    '"=1"',
    "\uff1d1",
    "-Anna",
    # A cell that begins within a text, for a program that takes another sign for the end of one.
    "Anna;=cmd|' /C calc'!A0;",
    "Anna,=1",
    "Anna\n=1",
    "'=1",
    'O\'Brien & Söhne; 山田, "Ltd"',
)
AMOUNTS = ("-12.50", "3.00")
SIGNS = ("=", "+", "-", "@", "\uff1d", "\t", "\r")


@pytest.fixture
def exported(exporter, run_jobs, settings):  # noqa: F811 - fixtures
    """The text of the file of an export of orders that have such texts wherever a text can be."""
    Order.objects.bulk_create(
        Order(
            number=f"{text[:20]} {number}",
            placed_at=datetime(2025, 3, 14, tzinfo=UTC) + timedelta(minutes=number),
            customer=text,
            note=text,
            # No database holds it to what the form offers.
            status=text[:16],
            amount=Decimal(AMOUNTS[number % 2]),
            currency=text[:3],
        )
        for number, text in enumerate(TEXTS)
    )
    export = request_export(exporter, "2025-03", "").export
    run_jobs()
    return path_of(export.pk).read_bytes().decode("utf-8-sig")


def rows_of(text, **how):
    return list(csv.reader(io.StringIO(text, newline=""), **how))


def saved_again(rows, **how):
    """As a program writes them that keeps quotation marks only where it needs them, or none at all."""
    written = io.StringIO(newline="")
    csv.writer(written, **how).writerows(rows)
    return written.getvalue()


def formulas(rows):
    """The cells that a program would run: those that look like one and are no number."""
    return [cell for row in rows for cell in row if cell.strip(' "').startswith(SIGNS) and cell not in AMOUNTS]


def test_p20_no_cell_of_the_file_is_a_formula(exported):
    rows = rows_of(exported)
    assert rows[0] == list(COLUMNS)
    assert len(rows) == len(TEXTS) + 1
    assert formulas(rows) == []


def test_p20_every_text_can_be_had_back(exported):
    rows = rows_of(exported)[1:]
    assert [original_text(row[2]) for row in rows] == list(TEXTS)
    assert [original_text(row[3]) for row in rows] == list(TEXTS)


def test_p20_amounts_stay_numbers(exported):
    assert [row[5] for row in rows_of(exported)[1:]] == [AMOUNTS[number % 2] for number in range(len(TEXTS))]
    typed = rows_of(exported, quoting=csv.QUOTE_NONNUMERIC)[1:]
    assert {row[5] for row in typed} == {-12.5, 3.0}


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_p20_nor_does_one_appear_to_a_program_that_ends_cells_at_another_sign(exported, delimiter):
    assert formulas(rows_of(exported, delimiter=delimiter)) == []
    assert formulas(rows_of(exported, delimiter=delimiter, quoting=csv.QUOTE_NONE)) == []


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_p20_nor_once_a_program_has_saved_the_file_in_its_own_way(exported, delimiter):
    rows = rows_of(exported)
    assert formulas(rows_of(saved_again(rows, delimiter=delimiter), delimiter=delimiter)) == []
    bare = "\n".join(",".join(row) for row in rows)
    assert formulas(rows_of(bare, delimiter=delimiter, quoting=csv.QUOTE_NONE)) == []
