"""Whatever is read can be read: contrast of the colours in tokens.css, light and dark (WCAG 2.2, 1.4.3 and 1.4.11)."""

from __future__ import annotations

import re

import pytest

from tests.templates.files import ROOT, STYLES

TOKENS = (ROOT / "static" / "css" / "tokens.css").read_text()
COLOURS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", TOKENS)
}
STATES = ("failed", "review", "running", "waiting", "retrying", "done", "skipped")
ENVIRONMENTS = ("grey", "blue", "green", "amber", "red")
TEXT = [
    *((ink, paper) for ink in ("ink", "ink-quiet", "accent", "accent-strong") for paper in ("paper", "panel", "hover")),
    *((state, paper) for state in STATES for paper in ("paper", "panel", "hover", "accent-tint", f"{state}-tint")),
    *((ink, f"{state}-tint") for state in STATES for ink in ("ink", "ink-quiet", "accent")),
    *((f"environment-{name}", "panel") for name in ENVIRONMENTS),
    ("accent-ink", "accent"),
    ("accent-ink", "accent-strong"),
    ("ink-quiet", "accent-tint"),
    ("accent", "accent-tint"),
]
EDGES = [("line-strong", "paper"), ("accent", "paper"), ("accent", "panel"), ("failed", "paper")]
SCHEMES = pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])


def luminance(colour):
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def test_the_formula_is_the_one_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@SCHEMES
@pytest.mark.parametrize(("ink", "paper"), TEXT)
def test_text_can_be_read(ink, paper, scheme):
    assert contrast(COLOURS[ink][scheme], COLOURS[paper][scheme]) >= 4.5


@SCHEMES
@pytest.mark.parametrize(("edge", "paper"), EDGES)
def test_edges_of_fields_and_the_focus_can_be_seen(edge, paper, scheme):
    assert contrast(COLOURS[edge][scheme], COLOURS[paper][scheme]) >= 3


def test_every_colour_is_a_token():
    """A colour named in another file would escape the test above; errors.css must stand alone and repeats tokens."""
    known = {colour for pair in COLOURS.values() for colour in pair}
    for path in STYLES:
        found = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", path.read_text()))
        assert path.name == "tokens.css" or found <= (known if path.name == "errors.css" else set()), path
