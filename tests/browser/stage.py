"""A page of ours in Chromium without a server: templates rendered here, every request answered by the test."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from playwright.sync_api import Browser, Page, Route

ORIGIN = "http://localhost"
NOW = datetime(2026, 11, 29, 14, 2, 11, tzinfo=UTC)
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""As in the settings; the first test of the folder compares them."""


def row(job_id: str, **more: Any) -> SimpleNamespace:
    """A row of the failed list."""
    usual: dict[str, Any] = {
        "connection": "default",
        "queue": "orders",
        "job_id": job_id,
        "can_open": True,
        "state": "failed_known",
        "note": "",
        "function": "shop.tasks.charge",
        "ids": (SimpleNamespace(name="order_id", value="4711"),),
        "error": f"ValueError: {job_id}",
        "idempotency": "undeclared",
        "failed_at": NOW - timedelta(minutes=4),
    }
    return SimpleNamespace(**(usual | more))


@dataclass
class Stage:
    """What the pages show now, and what was asked for. `answer` may stand in for the usual answer to a refresh."""

    rows: list[SimpleNamespace] = field(default_factory=lambda: [row("a"), row("b"), row("c")])
    now: datetime = NOW
    refreshes: int = 0
    posts: list[str] = field(default_factory=list)
    visits: list[str] = field(default_factory=list)
    answer: Callable[[Route], None] | None = None

    def handle(self, route: Route) -> None:
        path = urlsplit(route.request.url).path
        if path.startswith("/static/"):
            _answer_file(route, path.removeprefix("/static/"))
        elif route.request.method == "POST":
            self.posts.append(path)
            route.fulfill(status=204)
        elif route.request.headers.get("hx-request"):
            self.refreshes += 1
            self._refresh(route)
        else:
            self.visits.append(path)
            self._html(route, "failed_page.html" if path == "/failed/" else "login_page.html")

    def _refresh(self, route: Route) -> None:
        if self.answer:
            self.answer(route)
        else:
            self._html(route, "_failed_rows_part.html")

    def _html(self, route: Route, template: str) -> None:
        body = render_to_string(template, self._context())
        headers = {"content-security-policy": CSP, "cache-control": "no-store"}
        route.fulfill(body=body, content_type="text/html; charset=utf-8", headers=headers)

    def _context(self) -> dict[str, Any]:
        page = SimpleNamespace(
            connection="default", queue=None, queues=(SimpleNamespace(name="orders"),), rows=self.rows,
            total=len(self.rows), newer=None, older=None, is_first=True, unreachable="", notices=(),
        )  # fmt: skip
        header = {"exposure": "This machine only", "role": "Operators", "environment_colour": "grey"}
        user = SimpleNamespace(is_authenticated=True, get_username="otto")
        return {"page": page, "now": self.now, "header": header, "user": user, "connections": ["default"], "query": ""}


def _answer_file(route: Route, name: str) -> None:
    path = finders.find(name)
    assert path, name
    route.fulfill(body=Path(path).read_bytes(), content_type=mimetypes.guess_type(path)[0])


@contextmanager
def opened(browser: Browser, stage: Stage, *, path: str = "/failed/", **options: Any) -> Iterator[Page]:
    """A tab at `path` whose clock stands still until the test moves it. Errors of scripts end the test."""
    context = browser.new_context(**options)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if "Content Security Policy" in line.text else None)
    stand_still(page, NOW)
    page.route("**/*", stage.handle)
    page.goto(ORIGIN + path)
    yield page
    context.close()
    assert errors == []


def stand_still(page: Page, at: datetime) -> None:
    """Stop the clock of the pages to come; one that is only installed goes on beside what the test lets pass."""
    page.clock.install(time=at - timedelta(seconds=1))
    page.clock.pause_at(at)


def let_pass(page: Page, seconds: float) -> None:
    """Time passes on the page; whatever it asked for meanwhile has been answered."""
    for _ in range(round(seconds * 2)):
        page.clock.run_for(500)
        settle(page)


def settle(page: Page) -> None:
    """Wait until no refresh is on its way."""
    while page.evaluate("document.querySelector('.htmx-request') !== null"):
        page.wait_for_timeout(2)


def refresh(page: Page) -> None:
    """One refresh, to its end."""
    page.evaluate("document.dispatchEvent(new Event('opsboard:refresh'))")
    settle(page)
