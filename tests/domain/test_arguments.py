"""Which arguments are shown, and which values are masked elsewhere."""

from __future__ import annotations

import json
import urllib.parse

import pytest

from jobs.domain.arguments import Argument, can_be_masked, hidden_values, shown_arguments
from jobs.domain.calls import Call, Opaque, Unreadable, WellKnown
from jobs.domain.leaves import MAX_VALUES
from jobs.domain.redaction import scrub

UUID = "550e8400-e29b-41d4-a716-446655440000"


def call(*args, complete=True, unshown=(), **kwargs):
    return Call("fx.boom", args, kwargs, complete, unshown=unshown)


def shown(made, *declared):
    return {argument.name: argument.value for argument in shown_arguments(made, declared) if argument.value is not None}


def test_of_an_undeclared_job_only_the_id_is_shown():
    made = call(7, "CANARY2", api_key="CANARY1", card={"no": "CANARY3"})
    assert shown_arguments(made) == (
        Argument("#1", "7", "number", ""),
        Argument("#2", None, "text", "7 characters"),
        Argument("api_key", None, "text", "7 characters"),
        Argument("card", None, "dict", "1 entry"),
    )


@pytest.mark.parametrize(
    ("args", "result"),
    [
        ((7, 8), {"#1": "7"}),
        (("x", 7), {"#2": "7"}),
        ((True, 7), {"#2": "7"}),
        ((UUID, 7), {"#1": UUID}),
        ((WellKnown(UUID, "uuid.UUID"),), {"#1": UUID}),
        ((9_999_999_999,), {"#1": "9999999999"}),
        ((10_000_000_000,), {}),
        ((4111111111111111, 123), {}),
        ((UUID.replace("-", ""),), {}),
        (("7", 1.5, None, [7], {"id": 7}, Opaque("a.B")), {}),
    ],
)
def test_the_first_positional_integer_or_uuid_is_shown(args, result):
    assert shown(call(*args)) == result


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("order_id", 7),
        ("order_id", 12345678901234567890),
        ("order_uuid", UUID),
        ("pk", 7),
        ("ORDER_ID", "A-77"),
        ("stripe_id", "cus_NffrFeUfNV2Hib"),
        ("mongo_id", "507f1f77bcf86cd799439011"),
    ],
)
def test_a_keyword_named_like_an_id_is_shown(name, value):
    assert shown(call(**{name: value})) == {name: str(value)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", 7),
        ("order", 7),
        ("spk", 7),
        ("session_id", "abc123"),
        ("access_token_id", 7),
        ("order_id", True),
        ("order_id", 10**20),
        ("order_id", "two words"),
        ("order_id", "a" * 65),
        ("order_id", "anna@example.org"),
        ("order_id", ["7"]),
        ("key_id", "AKIAIOSFODNN7EXAMPLE"),
        ("jwt_id", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.x"),
        ("hook_id", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("blob_id", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c"),
        ("card_id", 4111111111111111),
        ("card_id", "4111111111111111"),
        ("account_id", "DE89370400440532013000"),
        ("born_id", WellKnown("2026-01-02", "datetime.date")),
    ],
)
def test_a_keyword_that_only_looks_like_an_id_is_not_shown(name, value):
    assert shown(call(**{name: value})) == {}


def test_a_declaration_replaces_the_rule():
    made = call(7, "north", order_id=8, region="east and west")
    assert shown(made, "#2", "region") == {"#2": "north", "region": "east and west"}


@pytest.mark.parametrize("value", ["x" * 201, ["x"], b"x", None, Opaque("a.B")])
def test_a_declared_value_is_shown_only_when_it_is_a_short_scalar(value):
    assert shown(call(region=value), "region") == {}


def test_a_declared_value_is_shown_on_one_line():
    assert shown(call(region="a\nb\u202ec"), "region") == {"region": "a�b�c"}


@pytest.mark.parametrize("name", ["<b>x</b>", "a b", "x" * 61, "", "#one", "a-b"])
def test_a_name_that_is_no_name_is_not_repeated(name):
    assert shown_arguments(call(**{name: "x"}))[0].name == "argument"


def test_a_name_that_is_no_name_is_masked_elsewhere_and_never_declared():
    made = call(7, **{"anna@example.org": "x", "#1": "CANARY"})
    assert {"anna@example.org", "CANARY"} <= set(hidden_values(made, ["#1"]))
    assert shown(made, "#1") == {"#1": "7"}


@pytest.mark.parametrize(
    ("value", "kind", "size"),
    [
        (None, "nothing", ""),
        (False, "true or false", ""),
        (1.5, "number", ""),
        ("a" * 1000, "text", "1,000 characters"),
        (b"a", "binary", "1 byte"),
        ([1], "list", "1 entry"),
        ((), "tuple", "0 entries"),
        ({1, 2}, "set", "2 entries"),
        (frozenset({1}), "set", "1 entry"),
        (Opaque("fx.Customer"), "object fx.Customer", ""),
        (WellKnown("1.5", "decimal.Decimal"), "decimal number", ""),
    ],
)
def test_of_a_hidden_argument_kind_and_size_are_shown(value, kind, size):
    assert shown_arguments(call("x", value))[1] == Argument("#2", None, kind, size)


def test_of_very_many_arguments_the_rest_is_counted():
    made = shown_arguments(call(*range(1500)))
    assert (len(made), made[-1].kind) == (101, "1,400 further arguments")


def test_every_leaf_of_the_hidden_arguments_is_hidden():
    made = call(7, "CANARY2", [b"CANARY4", {"n": (12345, 1.25)}], card={"no": "CANARY3"}, unshown=("CANARY5",))
    assert set(hidden_values(made)) == {"CANARY2", "CANARY4", "12345", "1.25", "CANARY3", "CANARY5"}


def test_a_value_equal_to_a_shown_id_is_not_hidden():
    assert hidden_values(call(1234, [1234, "1234"], order_id="A-77777", ref="A-77777")) == ()


def test_short_values_and_yes_or_no_are_not_hidden():
    assert hidden_values(call("x", "abc", True, None, 123)) == ()


def test_keys_count_as_values_unless_they_are_plain_words():
    data = {"card_no": 1, "first-name": 1, "anna@example.org": 1, 4711: 1, "user42": 1, "Anna Muster": 1}
    assert {"anna@example.org", "4711", "user42", "Anna Muster"} <= set(hidden_values(call(data)))
    assert not {"card_no", "first-name"} & set(hidden_values(call(data)))


@pytest.mark.parametrize("value", ['it\'s "x"\nand\tmore', "Grüße & mehr", "C:\\temp", "50 % of a/b?"])
@pytest.mark.parametrize(
    "spell",
    [str, repr, json.dumps, lambda text: repr(json.dumps(text)), urllib.parse.quote, urllib.parse.quote_plus],
)
def test_a_hidden_value_is_masked_however_it_is_spelled(value, spell):
    hidden = hidden_values(call(value, json.dumps(value)))
    assert scrub(f"before {spell(value)} after", hidden).replace("\\", "").strip("\"'").count("[hidden]") == 1


@pytest.mark.parametrize("spelled", ["CANARY\\xff", "CANARY\ufffd", "CANARYÿ"])
def test_hidden_bytes_are_masked_as_they_print(spelled):
    assert "CANARY" not in scrub(spelled, hidden_values(call(b"CANARY\xff")))


@pytest.mark.parametrize("spelled", ["1980-05-17", "datetime.date(1980, 5, 17)"])
def test_a_hidden_date_is_masked_as_it_prints(spelled):
    hidden = hidden_values(call(WellKnown("1980-05-17", "datetime.date")))
    assert scrub(spelled, hidden) in ("[hidden]", "[hidden])")


def test_a_longer_line_of_a_hidden_text_is_masked_by_itself():
    hidden = hidden_values(call("short\nthe line of CANARY\n"))
    assert scrub("in row 'the line of CANARY'", hidden) == "in row '[hidden]'"


def test_words_of_every_traceback_are_not_masked():
    assert hidden_values(call("File", "line", "exception", "following")) == ()


def test_the_longest_value_comes_first():
    hidden = hidden_values(call("aaaa", "bbbbbb", "ccccc"))
    assert list(hidden) == ["bbbbbb", "ccccc", "aaaa"]


def test_values_can_be_masked_when_all_of_them_are_known():
    assert can_be_masked(call(7, ["CANARY"]))
    assert not can_be_masked(call(7, complete=False))
    assert not can_be_masked(Unreadable("damaged"))
    assert not can_be_masked(call(list(range(MAX_VALUES + 1))))


@pytest.mark.parametrize(("bound", "path"), [(None, "charge"), ("fx.Shop", "fx.Shop.charge")])
def test_a_method_is_named_with_its_class(bound, path):
    assert Call("charge", (), {}, complete=True, bound=bound).path == path
