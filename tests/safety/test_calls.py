"""Calls as the ledger keeps them: ids by name, and an operation id that is the same for the same intent only."""

from __future__ import annotations

import pytest

from jobs.safety import ArgumentsRefused, MisuseError
from jobs.safety.calls import LONGEST_ID, Shape, fingerprint


def job(order_id, region="eu", *, copies=1):
    """A function as application code has it."""


SHAPE = Shape.of(job, "order:{region}:{order_id}", "order_id")


def test_a_call_is_the_same_however_its_arguments_are_given():
    calls = [
        SHAPE.bind((5,), {}),
        SHAPE.bind((), {"order_id": 5, "region": "eu"}),
        SHAPE.bind((5, "eu"), {"copies": 1}),
    ]
    assert len({(one.operation_id, one.fingerprint, one.entity) for one in calls}) == 1
    assert (calls[0].operation_id, calls[0].args) == ("order:eu:5", {"order_id": 5, "region": "eu", "copies": 1})


def test_values_can_not_be_mistaken_for_the_separators_of_an_id():
    ids = [
        SHAPE.bind((order, region), {}).operation_id for order, region in [("1", "a:b"), ("b:1", "a"), ("1", "a%3Ab")]
    ]
    assert len(set(ids)) == 3


@pytest.mark.parametrize("pair", [(1, True), (1, "1"), (None, "None")], ids=repr)
def test_values_that_read_alike_are_other_calls(pair):
    assert SHAPE.bind((pair[0],), {}).fingerprint != SHAPE.bind((pair[1],), {}).fingerprint


@pytest.mark.parametrize(
    "value",
    [1.5, [1], {"a": 1}, b"x", object(), "x" * 201, "a\0b", "\ud800", 10**200, -(10**200)],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_id_or_no_database_keeps_is_refused(value):
    with pytest.raises(ArgumentsRefused, match="order_id"):
        SHAPE.bind((value,), {})


def test_an_id_that_is_too_long_for_its_column_is_refused_and_not_cut():
    with pytest.raises(ArgumentsRefused, match=str(LONGEST_ID)):
        SHAPE.bind((":" * 200, "x"), {})


def test_a_call_that_does_not_fit_the_function_is_no_call():
    with pytest.raises(TypeError):
        SHAPE.bind((), {"other": 1})


@pytest.mark.parametrize(
    ("template", "match"),
    [
        ("fixed", "names no parameter"),
        ("order:{other}", "no parameter"),
        ("order:{order_id.pk}", "no parameter"),
        ("order:{}", "no parameter"),
        ("order:{order_id:05d}", "formats"),
        ("order:{order_id!r}", "formats"),
    ],
)
def test_an_id_that_could_not_keep_its_promise_is_found_at_import(template, match):
    with pytest.raises(MisuseError, match=match):
        Shape.of(job, template, None)


def test_parameters_without_names_and_those_that_sound_like_secrets_are_found_at_import():
    for function in (lambda *orders: None, lambda **orders: None, lambda password: None):
        with pytest.raises(MisuseError):
            Shape.of(function, "order:{orders}", None)


def test_a_fingerprint_does_not_depend_on_order():
    assert fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": [2], "a": 1})
