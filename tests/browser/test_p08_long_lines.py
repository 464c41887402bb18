"""P08, the part that only a browser shows: a line of a megabyte without a blank stays in its box."""

from __future__ import annotations

import pytest

from tests.support.pages import at

WIDER_THAN_THE_WINDOW = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
BOXES = "[...document.querySelectorAll('main pre')]"
CUT_OFF = f"{BOXES}.filter(box => box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === 'hidden')"


@pytest.mark.parametrize("width", [1280, 320])
@pytest.mark.parametrize("text", ["x", "ab "])
def test_p08_long_lines_wrap_or_scroll_within_their_box(open_tab, operator, real_rq, width, text):
    real_rq.fail("fx.long_message", 7, 1_000_000, text, job_id="p08")
    for address in (at("job", "orders", "p08"), at("failed")):
        tab = open_tab(operator, address, viewport={"width": width, "height": 800})
        for summary in tab.locator("main summary:visible").all():
            summary.click()
        assert not tab.evaluate(WIDER_THAN_THE_WINDOW), address
        assert tab.evaluate(f"{CUT_OFF}.length") == 0
    assert tab.locator("tr[data-key='orders:p08']").is_visible()
