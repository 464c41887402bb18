"""What hands do the same way in many tests."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page

from tests.conftest import PASSWORD


def sign_in_by_hand(page: Page, name: str, password: str = PASSWORD) -> None:
    """Fill the form of the sign-in page and send it."""
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def retry_button(page: Page) -> Locator:
    """The job page's button, by what a screen reader calls it."""
    return page.get_by_role("button", name=re.compile(r"^Retry job"))


def review_button(page: Page) -> Locator:
    """What stands in its place where a retry is not provably safe."""
    return page.get_by_role("button", name=re.compile(r"^Review before retry of job"))


def confirm_delete(page: Page, word: str) -> None:
    """On the page that asks: type the function's name and press."""
    page.get_by_label(f"Type {word} to confirm").fill(word)
    page.get_by_role("button", name="Delete for good").click()


def told(page: Page, sentence: str) -> Locator:
    """What the page announces about one's own act."""
    return page.get_by_role("status").filter(has_text=sentence)


def wanted(page: Page, label: str) -> Locator:
    """A field of the answer that is chosen in a review; other answers have fields of the same name."""
    return page.get_by_label(label).locator("visible=true")


def answer_button(page: Page) -> Locator:
    """What sends the answer of a review."""
    return page.get_by_role("button", name=re.compile(r"^Put it on record"))


def look_up(page: Page, text: str) -> None:
    """By the header's field, with or without script."""
    page.get_by_role("searchbox", name="Look up a job by its id").first.fill(text)
    page.get_by_role("button", name="Look up").first.click()
