"""One Chromium and one served site for all browser tests; a fresh context, a fresh database and an empty Redis each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.db import connections
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.served import Site
from tests.browser.shop import Shop, declare, furnish, pack, unpack
from tests.browser.watch import PATIENCE_MS, Contexts
from tests.support.chromium import find_chromium

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-proxy-server"]
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(params=["3.0"])
def rq_version(request) -> str:
    """What a browser shows does not depend on the version; reading both is proved elsewhere."""
    return request.param


@pytest.fixture(scope="session")
def _chromium() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture
def browser(_chromium, monkeypatch) -> Iterator[Browser]:
    """The one Chromium of the session.

    Playwright leaves its event loop running in this thread. Django would take every test after that for asynchronous
    code, so the loop counts as running during the tests that use it only.
    """
    chromium, loop = _chromium
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    asyncio._set_running_loop(loop)
    yield chromium
    # Under a running loop Django keeps connections apart from the thread's own: these are this test's.
    connections.close_all()
    asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def _served(django_db_setup, django_db_blocker, valkey, tmp_path_factory) -> Iterator[Site]:
    with django_db_blocker.unblock():
        site = Site(tmp_path_factory.mktemp("site"), valkey.url)
    with site.serving():
        yield site


@pytest.fixture
def site(_served, redis_client, transactional_db) -> Site:
    """The served site, on an empty Redis and an empty database."""
    return _served


@pytest.fixture(scope="session")
def _warehouse() -> list[tuple[Shop, dict]]:
    """The shop and what Redis holds of it, once it was furnished."""
    return []


@pytest.fixture
def shop(site, real_rq, redis_client, _warehouse) -> Shop:
    """A shop with one job of each kind; a real RQ ran them, once for all tests."""
    declare()
    if _warehouse:
        unpack(redis_client, _warehouse[0][1])
    else:
        _warehouse.append((furnish(real_rq), pack(redis_client)))
    return _warehouse[0][0]


@pytest.fixture
def _contexts(browser, site) -> Iterator[Contexts]:
    contexts = Contexts(browser, site.address)
    yield contexts
    contexts.close()
    complaints = contexts.complaints()
    assert complaints == [], "\n".join([*complaints, site.last_error()])


@pytest.fixture
def open_tab(_contexts, sign_in) -> Callable[..., Page]:
    """A tab in a new context: `open_tab(operator, "/failed/", java_script_enabled=False)`.

    Whatever a tab complains about by the end (scripts, policy, dialogs, missing files) fails the test.
    """

    def open_one(person: User | None = None, path: str | None = None, **options: Any) -> Page:
        context = _contexts.open(**options)
        if person is not None:
            name = configured.SESSION_COOKIE_NAME
            cookie = {"name": name, "value": sign_in(person).cookies[name].value, "url": _contexts.address}
            context.add_cookies([cookie])
        page = context.new_page()
        if path is not None:
            page.goto(path)
        return page

    return open_one


@pytest.fixture
def expect_complaint(_contexts) -> Callable[[str], None]:
    """Say how a complaint begins that this test provokes: it has to come, and does not fail the test."""
    return _contexts.expected.append
