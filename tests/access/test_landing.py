"""Where one lands after an act that had no effect: on a page, never on the address of an act."""

from __future__ import annotations

import pytest

from jobs.views.landing import landing_page, page_at_or_above
from tests.access.routes import every_address

RETRY = "/jobs/default/orders/4711/retry/"


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/access/?page=2", "/access/?page=2"),
        ("/%61ccess/?q=a%20b", "/%61ccess/?q=a%20b"),
        ("/access/give/?x=1", "/access/"),
        (RETRY, RETRY),
        ("/jobs/default/a~2Fb/order~2F42/retire/", "/jobs/default/a~2Fb/order~2F42/"),
        ("/jobs/default/nowhere/", "/"),
        ("/logout/", "/"),
        ("/login/?next=/access/", "/"),
        ("//evil.example/", "/"),
        ("access/", "/"),
        ("http://[", "/"),
        ("", "/"),
    ],
)
def test_the_nearest_page_at_or_above_an_address(address, page):
    assert page_at_or_above(address) == page


def test_an_act_returns_to_the_list_that_it_was_sent_from(rf):
    request = rf.post(
        RETRY, headers={"host": "localhost:18000", "referer": "http://localhost:18000/failed/?queue=a%20b"}
    )
    assert landing_page(request) == "/failed/?queue=a%20b"


@pytest.mark.parametrize(
    "referer",
    [
        "http://evil.example/failed/",
        "http://localhost:9/failed/",
        "https://localhost:18000/failed/",
        "http://localhost:18000" + RETRY,
        "http://localhost:18000/login/",
        "http://localhost:18000/nowhere/",
        "http://[",
        "/failed/",
        "",
    ],
)
def test_an_act_without_a_page_of_ours_behind_it_returns_to_the_page_above(rf, referer):
    request = rf.post(RETRY, headers={"host": "localhost:18000", "referer": referer})
    assert landing_page(request) == "/jobs/default/orders/4711/"


@pytest.mark.django_db
@pytest.mark.usefixtures("redis_client")
def test_every_address_that_takes_no_get_is_marked_as_an_act(sign_in, superuser):
    """Whoever adds a view with require_POST instead of @act finds out here."""
    browser = sign_in(superuser)
    acts = [address for address in every_address().values() if browser.get(address).status_code == 405]
    assert {"/access/give/", "/logout/"} <= set(acts)
    assert [address for address in acts if page_at_or_above(address) == address] == []
