"""The files that the tests of this folder read."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STYLES = sorted((ROOT / "static" / "css").rglob("*.css"))
SCRIPTS = sorted((ROOT / "static" / "js").rglob("*.js"))
ICONS = sorted((ROOT / "static" / "img" / "icons").glob("*.svg"))
BOOTSTRAP = ROOT / "static" / "vendor" / "bootstrap" / "bootstrap.min.css"

_COMMENT = re.compile(r"{% comment %}.*?{% endcomment %}", re.DOTALL)
_VALUE = re.compile(r"{{.*?}}|{% (?:url|static|get_static_prefix|translate|count|due|when)\b.*?%}", re.DOTALL)
_OTHER = re.compile(r"{%.*?%}", re.DOTALL)


def name(path: Path) -> str:
    """For the names of parametrised tests."""
    return path.relative_to(ROOT).as_posix()


def source(template: Path) -> str:
    """A template's text without its comments."""
    return _COMMENT.sub("", template.read_text())


class Elements(HTMLParser):
    """The start tags of a template as (name, attributes); what Django fills in becomes the letter x."""

    def __init__(self, template: Path) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.script_text = ""
        self._in_script = False
        self.feed(_OTHER.sub(" ", _VALUE.sub("x", source(template))))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {key: value or "" for key, value in attrs}))
        self._in_script = tag == "script"

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.script_text += data.strip()

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False
