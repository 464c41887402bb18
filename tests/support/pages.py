"""What a person does with a page: read its words, follow its links, press its buttons."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Protocol

from django.test import Client
from django.urls import reverse

_SILENT = frozenset({"script", "style", "template"})
_INLINE = frozenset({"a", "abbr", "b", "code", "em", "i", "mark", "span", "strong", "svg", "time", "use", "wbr"})
_EMPTY = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})


class Answer(Protocol):
    """What a test client gives, as far as it is read here."""

    @property
    def content(self) -> bytes: ...


@dataclass
class Element:
    """One start tag, as a browser would see it."""

    tag: str
    attributes: dict[str, str]


@dataclass
class Form:
    """One form: where it goes, and the fields that it sends without anybody typing."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """A parsed page. `text` is what can be read on it, white space collapsed; attributes are not part of it."""

    def __init__(self, answer: Any) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.forms: list[Form] = []
        self.title = ""
        self._pieces: list[str] = []
        self._open: list[str] = []
        self.feed(answer if isinstance(answer, str) else answer.content.decode())
        self.close()

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self._pieces)).strip()

    @property
    def links(self) -> list[str]:
        return [one.attributes["href"] for one in self.elements if one.tag == "a" and "href" in one.attributes]

    def rows(self) -> list[str]:
        """The keys of the rows of its tables: `queue:job id` in the failed list, the job id elsewhere."""
        return [one.attributes["data-key"] for one in self.elements if one.tag == "tr" and "data-key" in one.attributes]

    def form(self, action: str) -> Form:
        """The form that is sent to this address; fails when the page offers none."""
        found = [form for form in self.forms if form.action == action]
        assert found, f"no form for {action} among {[form.action for form in self.forms]}"
        return found[0]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._part(tag)
        self.elements.append(Element(tag, given))
        if tag not in _EMPTY:
            self._open.append(tag)
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get").lower()))
        elif tag == "input" and "form" in self._open and given.get("type") == "hidden":
            self.forms[-1].fields[given["name"]] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        self._part(tag)
        while tag in self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "title" in self._open:
            self.title += data
        elif not _SILENT.intersection(self._open):
            self._pieces.append(data)

    def _part(self, tag: str) -> None:
        """Words of two blocks stand apart; a word that is partly emphasised is one word."""
        if tag not in _INLINE:
            self._pieces.append(" ")


def at(name: str, *args: str, connection: str = "default") -> str:
    """The address of a page: `at("overview")`, `at("job", "orders", "7")`, `at("queue-state", "orders", "failed")`."""
    return reverse(f"jobs:{name}", args=(connection, *args) if args else ())


def press(browser: Client, page: str, action: str, **typed: Any) -> Any:
    """Open a page and send its form for `action`, hidden fields and all: what pressing its button does."""
    form = Page(browser.get(page)).form(action)
    assert form.method == "post"
    return browser.post(action or page, {**form.fields, **typed})


def confirm(browser: Client, address: str, **typed: Any) -> Any:
    """Open the page of an act and confirm it there, with the word that it wants typed."""
    page = Page(browser.get(address))
    wanted = re.search(r"Type (\S+) to confirm", page.text)
    return browser.post(address, {**page.form(address).fields, **({"typed": wanted[1]} if wanted else {}), **typed})


def without_tokens(html: str) -> str:
    """The page without the CSRF tokens, which differ each time."""
    return re.sub(r'(name="csrfmiddlewaretoken" value=)"[^"]*"', r'\1""', html)
