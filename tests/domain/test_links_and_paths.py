"""Which links may be followed, and which texts name a function."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.links import build_links, link_host
from jobs.domain.paths import LONGEST, is_dotted_path


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://wiki.example.com/runbooks/charge?page=2#bank", "wiki.example.com"),
        ("http://wiki", "wiki"),
        ("HTTPS://Wiki.Example:8443/", "wiki.example:8443"),
        ("https://[::1]:8000/x", "[::1]:8000"),
        ("https://wiki.example/@team/página", "wiki.example"),
    ],
)
def test_a_plain_link_of_the_web_names_its_host(url, host):
    assert link_host(url) == host


@pytest.mark.parametrize(
    "url",
    [
        "",
        "javascript:alert(1)",
        "JavaScript://wiki.example/%0aalert(1)",
        "data:text/html,x",
        "ftp://wiki.example/",
        "//wiki.example/",
        "/runbooks/",
        "wiki.example/runbooks",
        "https:wiki.example",
        "https:///wiki.example",
        "https://",
        "https://user:secret@wiki.example/",
        "https://user@wiki.example/",
        "https://wiki.example\\@elsewhere.example/",
        "https://wiki.example\t.elsewhere.example/",
        "https://wiki.example/a b",
        "https://wiki.example/a\nb",
        " https://wiki.example/",
        "https://wiki.example/\n",
        "https://wiki。example/",
        "https://.wiki.example/",
        "https://wiki.example:port/",
        "https://wiki.example:443x/",
        "https://[0]/",
    ],
)
def test_whatever_else_is_no_link_to_follow(url):
    assert link_host(url) == ""


@given(st.text(alphabet="htps:/@\\[].aé\t #?0", max_size=24).map(lambda rest: f"https://{rest}"))
def test_the_host_that_is_named_is_the_one_that_a_parser_finds_too(url):
    host = link_host(url)
    if host:
        assert urlsplit(url).netloc.lower() == host and "@" not in host


def test_a_link_is_filled_in_with_values_that_cannot_leave_their_place():
    values = {"operation_id": "rq:a/b?c#d&e=f é\udcff", "queue": "{operation_id}"}
    (link,) = build_links([("Logs", "https://Logs.example:8080/{operation_id}?q={queue}#x")], values)
    assert link.url == "https://Logs.example:8080/rq%3Aa%2Fb%3Fc%23d%26e%3Df%20%C3%A9%3F?q=%7Boperation_id%7D#x"
    assert (link.name, link.host) == ("Logs", "logs.example:8080")


@pytest.mark.parametrize(
    "template",
    [
        "javascript:alert({id})",
        "ftp://logs.example/{id}",
        "//logs.example/{id}",
        "https://{id}/",
        "https://{id}.example/",
        "https://logs.example{id}/",
        "https://logs.example:{id}/",
        "https://{id}@logs.example/",
        "https://logs.example/{password}",
        "https://logs.example/{}",
        "https://logs.example/{id",
        "https://logs.example/id}",
        "https://logs.example/{{id}}",
        "https://logs.example/{id.__class__}",
    ],
)
@pytest.mark.parametrize("value", ["evil", "443", "e%2Fvil"])
def test_a_link_that_is_none_or_whose_host_a_value_would_choose_is_left_out(template, value):
    assert build_links([("Bad", template), ("Good", "https://logs.example/{id}")], {"id": value})[0].name == "Good"


@pytest.mark.parametrize("path", ["shop.tasks.send", "a.b", "_a._b2", "größe.änder"])
def test_dotted_names_are_a_path(path):
    assert is_dotted_path(path)


@pytest.mark.parametrize("path", ["", "send", "a..b", "a.b.", ".a", "1.b", "a b.c", "a.b\n", "a.b()", "a.<locals>.b"])
def test_nothing_else_is_a_path(path):
    assert not is_dotted_path(path)


def test_a_path_fits_into_its_column():
    assert is_dotted_path("a." + "b" * (LONGEST - 2)) and not is_dotted_path("a." + "b" * (LONGEST - 1))
