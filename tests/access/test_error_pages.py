"""Pages for what went wrong: they need nothing to work, and they give nothing away."""

from __future__ import annotations

import pytest
from django.http import HttpResponse
from django.template import TemplateDoesNotExist
from django.test import RequestFactory

from opsboard import errors

pytestmark = pytest.mark.usefixtures("failing_pages")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/bad/", 400),
        ("/denied/", 403),
        ("/hidden/", 404),
        ("/broken/", 500),
        ("/unavailable/", 503),
        ("/nowhere/", 404),
    ],
)
def test_an_error_page_works_without_a_database_and_names_nothing(calm_client, path, status):
    """Without the mark django_db, every query of this test is an error of its own."""
    answer = calm_client.get(path)
    assert answer.status_code == status
    assert "<h1" in answer.text
    for leak in ("s3cret", "payroll", "Traceback", "RuntimeError"):
        assert leak not in answer.text


def test_who_is_refused_reads_which_right_is_missing(calm_client):
    assert "You may not retry jobs in this queue." in calm_client.get("/denied/").text


@pytest.mark.parametrize(
    ("referer", "back"),
    [
        ("http://localhost/public/?page=2", "/public/?page=2"),
        ("http://localhost/denied/", "/"),
        ("http://localhost/login/", "/"),
        ("http://evil.example/public/", "/"),
        ("http://localhost.evil.example/public/", "/"),
        ("http://[", "/"),
        ("", "/"),
    ],
)
def test_a_refusal_leads_back_to_the_page_before_and_never_to_itself(calm_client, referer, back):
    assert f'href="{back}"' in calm_client.get("/denied/", headers={"referer": referer}).text


def test_a_store_that_does_not_answer_says_when_to_come_back(calm_client):
    answer = calm_client.get("/unavailable/")
    assert answer.headers["Retry-After"] == "5"


def test_what_is_hidden_and_what_does_not_exist_look_the_same(calm_client):
    hidden, missing = calm_client.get("/hidden/"), calm_client.get("/nowhere/")
    assert (hidden.status_code, hidden.content) == (missing.status_code, missing.content)
    assert calm_client.get("/unknown-store/").content == missing.content


def test_the_last_page_works_even_when_templates_do_not(monkeypatch):
    def broken(*args, **kwargs):
        raise TemplateDoesNotExist("500.html")

    monkeypatch.setattr(errors, "render_to_string", broken)
    answer = errors.server_error(RequestFactory().get("/"))
    assert (answer.status_code, answer.content) == (500, b"Something went wrong here. The log says what.")


def test_other_errors_of_a_view_are_not_mistaken_for_the_stores(calm_client, rf):
    middleware = errors.BrokerErrorsMiddleware(lambda request: HttpResponse())
    assert middleware.process_exception(rf.get("/"), RuntimeError("x")) is None
