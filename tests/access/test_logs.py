"""Logs say who asked for what, and neither search words nor local variables."""

from __future__ import annotations

import json
import logging
import logging.config

import pytest
import structlog

from opsboard.logs import logging_config


@pytest.fixture
def lines(capsys):
    """The real handlers, writing to what the test reads."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def written(*, debug=False):
        return capsys.readouterr().err

    def configure(*, debug=False):
        logging.config.dictConfig(logging_config(debug=debug, level="INFO"))
        return written

    yield configure
    root.handlers[:], root.level = handlers, level


def test_a_request_is_one_line_of_json_without_its_query(lines, client):
    written = lines()
    client.get("/nowhere/?q=s3cret")
    said = written()
    (line,) = [json.loads(line) for line in said.splitlines() if "opsboard.request" in line]
    assert (line["method"], line["path"], line["status"], line["user"]) == ("GET", "/nowhere/", 404, None)
    assert "s3cret" not in said


@pytest.mark.django_db
def test_the_line_says_who_asked(lines, sign_in, viewer):
    written = lines()
    sign_in(viewer).get("/access/")
    assert '"user": "vera"' in written()


@pytest.mark.parametrize("debug", [False, True])
def test_a_traceback_shows_no_local_variables(lines, debug):
    written = lines(debug=debug)
    password = "hunter" + "2"
    try:
        int("x" if password else "y")
    except ValueError:
        structlog.get_logger("some").exception("it failed")
    said = written()
    assert "ValueError" in said
    assert password not in said


@pytest.mark.parametrize("debug", [False, True])
def test_lines_of_django_lose_their_query(lines, debug):
    written = lines(debug=debug)
    logging.getLogger("django.server").info('"%s" %s', "GET /lookup/?id=s3cret HTTP/1.1", "200")
    said = written()
    assert "GET /lookup/" in said
    assert "s3cret" not in said


def test_django_writes_nothing_twice(lines):
    written = lines()
    logging.getLogger("django.security").warning("once")
    assert written().count("once") == 1
