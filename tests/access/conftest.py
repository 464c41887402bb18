"""Fixtures of the access tests."""

from __future__ import annotations

import pytest
from django.test import Client


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
