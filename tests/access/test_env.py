"""Settings from the environment parse or say what to do."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from opsboard.env import env_bool, env_choice, env_int, env_list, env_str, env_time_zone, env_url


@pytest.mark.parametrize(("text", "value"), [("1", True), ("Yes", True), ("on", True), ("0", False), ("FALSE", False)])
def test_a_switch_reads_the_usual_words(text, value):
    assert env_bool("X", not value, environ={"X": text}) is value


@pytest.mark.parametrize("default", [True, False])
def test_a_switch_left_out_or_empty_keeps_its_default(default):
    assert env_bool("X", default, environ={}) is default
    assert env_bool("X", default, environ={"X": " "}) is default


def test_a_switch_that_is_neither_on_nor_off_ends_the_start():
    with pytest.raises(ImproperlyConfigured, match="X must be 1 or 0; set it to one of them or leave it out"):
        env_bool("X", environ={"X": "maybe"})


@pytest.mark.parametrize("text", ["0", "65536", "-1", "80.0", "8e3", "eighty", "१२"])
def test_a_number_out_of_range_ends_the_start(text):
    with pytest.raises(ImproperlyConfigured, match="PORT must be a whole number from 1 to 65535"):
        env_int("PORT", 8000, least=1, most=65535, environ={"PORT": text})


def test_a_number_reads_both_ends_of_its_range():
    assert [env_int("X", 5, least=1, most=9, environ={"X": text}) for text in ("1", "9", "")] == [1, 9, 5]


def test_a_list_drops_blanks_and_empty_parts():
    assert env_list("X", ["a"], environ={"X": " high, ,low "}) == ["high", "low"]
    assert env_list("X", ["a"], environ={"X": " , "}) == ["a"]


def test_a_choice_ignores_case_and_refuses_others():
    assert env_choice("X", "INFO", ("INFO", "ERROR"), environ={"X": "error"}) == "ERROR"
    with pytest.raises(ImproperlyConfigured, match="X must be one of INFO, ERROR"):
        env_choice("X", "INFO", ("INFO", "ERROR"), environ={"X": "DEBUG"})


@pytest.mark.parametrize("text", ["Berlin", "../etc/passwd", "/usr/share/zoneinfo/UTC", "Europe"])
def test_a_time_zone_nobody_knows_ends_the_start(text):
    with pytest.raises(ImproperlyConfigured, match="X is no known time zone; use a name like Europe/Berlin or UTC"):
        env_time_zone("X", environ={"X": text})


def test_a_time_zone_of_the_database_is_taken():
    assert env_time_zone("X", environ={"X": "Asia/Kolkata"}) == "Asia/Kolkata"
    assert env_time_zone("X", environ={}) == "UTC"


@pytest.mark.parametrize(
    "text", ["http://:s3cret@h/", "redis:", "redis://", "redis://[::1", "s3cret", "redis://:s3 cret@h"]
)
def test_an_address_that_cannot_be_read_is_not_repeated(text):
    with pytest.raises(ImproperlyConfigured) as caught:
        env_url("REDIS_URL", ("redis",), "redis://HOST:6379/0", environ={"REDIS_URL": text})
    assert str(caught.value) == "REDIS_URL can't be read; write it like redis://HOST:6379/0."
    assert caught.value.__cause__ is None


def test_an_address_left_out_is_empty():
    assert env_url("X", ("redis",), "redis://HOST", environ={}) == ""
    assert env_str("X", "there", environ={"X": "  "}) == "there"
