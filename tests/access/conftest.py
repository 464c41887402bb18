"""Fixtures of the access tests."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.support.proxied import FORWARDED, proxied_settings


@pytest.fixture
def failing_pages(settings) -> None:
    """The product with some more pages, each of which fails in its own way."""
    settings.ROOT_URLCONF = "tests.access.urls"


@pytest.fixture
def calm_client() -> Client:
    """A browser that gets the 500 page instead of the exception."""
    return Client(HTTP_HOST="localhost", raise_request_exception=False)


@pytest.fixture
def strict_client() -> Client:
    """A browser whose forms need their token, as real ones do."""
    return Client(HTTP_HOST="localhost", enforce_csrf_checks=True)


@pytest.fixture
def proxied(settings) -> Client:
    """The product in proxied mode, and a browser whose requests its proxy hands on."""
    for name, value in proxied_settings().items():
        setattr(settings, name, value)
    return Client(enforce_csrf_checks=True, **FORWARDED)
