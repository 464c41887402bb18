"""Links out, as they are written into the environment."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from opsboard.links import EXAMPLE, PLACEHOLDERS, read_links


def read(text):
    return read_links({"OPSBOARD_LINKS": text})


def refusal(text):
    with pytest.raises(ImproperlyConfigured) as raised:
        read(text)
    return str(raised.value)


@pytest.mark.parametrize("text", ["", " \n ; "])
def test_without_any_there_are_none(text):
    assert read(text) == ()


@pytest.mark.parametrize("between", [";", "\n", " ;\n "])
def test_several_stand_on_lines_or_between_semicolons_and_keep_their_order(between):
    found = read(between.join([EXAMPLE, "The bank = https://bank.example/find?ref={job_id}&x=1=2"]))
    assert found == (
        ("Logs", "https://logs.example/?q={operation_id}"),
        ("The bank", "https://bank.example/find?ref={job_id}&x=1=2"),
    )


@pytest.mark.parametrize("word", PLACEHOLDERS)
def test_each_placeholder_can_be_used(word):
    assert read(f"Logs=http://logs.example:8080/{{{word}}}") == (("Logs", f"http://logs.example:8080/{{{word}}}"),)


@pytest.mark.parametrize(
    "text", ["https://logs.example/?q={job_id}", "=https://logs.example/", "Logs", "x" * 61 + "=y"]
)
def test_a_link_without_a_name_says_how_to_write_it(text):
    assert refusal(text) == (
        "OPSBOARD_LINKS: begin each link with its name, like Logs=https://logs.example/?q={operation_id}; a ; inside"
        " is %3B."
    )


@pytest.mark.parametrize("rest", ["{password}", "{}", "{job_id", "job_id}", "{{job_id}}", "{job_id.__class__}"])
def test_what_cannot_be_filled_in_is_refused_with_what_can(rest):
    said = refusal(f"Logs=https://logs.example/?q={rest}")
    assert "in “Logs” only {operation_id} {job_id} {job_type} {queue} {connection} can be filled in" in said


@pytest.mark.parametrize(
    "address",
    [
        "",
        "javascript:alert({job_id})",
        "ftp://logs.example/{job_id}",
        "//logs.example/{job_id}",
        "https://{queue}.example/",
        "https://logs.example{queue}/",
        "https://{queue}/",
        "https://logs.example:{job_id}/",
        "https://user:s3cret@logs.example/",
        "https://logs.example\\@elsewhere.example/",
        "https://logs.example/a b",
    ],
)
def test_an_address_that_could_lead_elsewhere_is_refused_and_not_repeated(address):
    said = refusal(f"Logs={address}")
    assert said.startswith("OPSBOARD_LINKS: “Logs” needs an address of http or https with its host and no password")
    assert "s3cret" not in said
