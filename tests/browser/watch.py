"""Everything a tab could complain about, whatever the test is looking at: it must stay empty."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Response

PATIENCE_MS = 15_000
"""How long a page may take to show what it should; the machines that run this are small and busy."""

_TELL = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} against ${event.blockedURI} on ${location.pathname}`);
});
"""
_ANSWERED = "Failed to load resource: the server responded with a status of "
"""Chromium's line for every 4xx and 5xx. Which of them are wrong is judged by the answer itself."""


class Contexts:
    """The browser contexts of one test. `expected` are the beginnings of complaints that the test provokes."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.address = address
        self.expected: list[str] = []
        self._browser = browser
        self._opened: list[tuple[BrowserContext, list[str]]] = []

    def open(self, **options: Any) -> BrowserContext:
        """A new context, as if of a browser of its own. Options go to Playwright."""
        options = {"locale": "en-GB", "timezone_id": "UTC"} | options
        context = self._browser.new_context(base_url=self.address, **options)
        context.set_default_timeout(PATIENCE_MS)
        self._opened.append((context, _watch(context)))
        return context

    def close(self) -> None:
        """Close them all; what they had to say has been heard then."""
        for context, _complaints in self._opened:
            context.close()

    def complaints(self) -> list[str]:
        """What was said and not expected, and what was expected and not said."""
        said = [line for _context, complaints in self._opened for line in complaints]
        missing = [f"not said: {begin}" for begin in self.expected if not any(line.startswith(begin) for line in said)]
        return missing + [line for line in said if not line.startswith(tuple(self.expected))]


def _watch(context: BrowserContext) -> list[str]:
    """The complaints of all tabs of this context from now on, filled in as they come."""
    complaints: list[str] = []
    context.add_init_script(_TELL)
    context.on("page", lambda page: _watch_tab(page, complaints))
    context.on("response", lambda response: _judge_answer(response, complaints))
    context.on("dialog", lambda dialog: _refuse(dialog, complaints))
    return complaints


def _watch_tab(page: Page, complaints: list[str]) -> None:
    page.on("pageerror", lambda error: complaints.append(f"script error on {page.url}: {error}"))
    page.on("console", lambda line: _judge_line(line, complaints))


def _judge_line(line: ConsoleMessage, complaints: list[str]) -> None:
    if line.type in ("error", "warning") and not line.text.startswith(_ANSWERED):
        complaints.append(f"console {line.type}: {line.text}")


def _judge_answer(response: Response, complaints: list[str]) -> None:
    is_page = response.request.is_navigation_request()
    if response.status >= 500 or (response.status >= 400 and not is_page):
        complaints.append(f"{response.status} for {response.url}")


def _refuse(dialog: Dialog, complaints: list[str]) -> None:
    complaints.append(f"a dialog opened: {dialog.message}")
    dialog.dismiss()
