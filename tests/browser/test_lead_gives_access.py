"""A lead gives a group the right to see a queue, and takes it back, with one press each."""

from __future__ import annotations

import re
import time

from django.contrib.auth.models import Group
from guardian.models import GroupObjectPermission
from playwright.sync_api import expect

ALL_OFF = """() => addEventListener("submit", ({ target }) => setTimeout(() => {
  const buttons = [...target.elements].filter((one) => one.type === "submit");
  sessionStorage.allOff = buttons.length > 1 && buttons.every((one) => one.disabled);
}, 100))"""


def press(page, word, group):
    page.get_by_role("button", name=re.compile(f"^{word} “see the queue” in orders (to|from) {group}")).dblclick()


def answer_slowly(route):
    time.sleep(0.5)
    route.continue_()


def test_she_gives_it_once_however_often_she_presses_and_takes_it_back(open_tab, lead):
    page, posts = open_tab(lead, "/access/"), []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.route("**/access/give/", answer_slowly)
    page.evaluate(ALL_OFF)
    press(page, "give", "Viewers")
    expect(page.get_by_role("button", name=re.compile("^take .* from Viewers"))).to_be_visible()
    assert (page.evaluate("sessionStorage.allOff"), len(posts)) == ("true", 1)
    assert [str(one.permission.codename) for one in GroupObjectPermission.objects.all()] == ["view_queue"]
    press(page, "take", "Viewers")
    expect(page.get_by_role("button", name=re.compile("^give “see the queue” .* to Viewers"))).to_be_visible()
    assert not GroupObjectPermission.objects.exists()


def test_who_was_given_it_sees_the_queue_at_once(open_tab, lead, outsider, real_rq):
    outsider.groups.add(Group.objects.get(name="Viewers"))
    real_rq.fail("fx.boom", 4711)
    hers = open_tab(outsider, "/")
    expect(hers.get_by_text("You may see no queue yet")).to_be_visible()
    page = open_tab(lead, "/access/")
    press(page, "give", "Viewers")
    expect(page.get_by_role("button", name=re.compile("^take .* from Viewers"))).to_be_visible()
    hers.reload()
    expect(hers.get_by_role("row", name="orders")).to_be_visible()
