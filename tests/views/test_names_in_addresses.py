"""Any queue name and any job id has one address, and each address one name."""

from __future__ import annotations

import pytest
from django.urls import Resolver404, resolve, reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.views.converters import NameConverter

ODD = ["order/42", "order%2F42", "order 42", "order.42", "$x", "../../admin", "a?b#c", "bestellung-ü", "x" * 300]
ODD += ["mail/eu", "a b", "q?x=1#f", "ünï", "<b>x</b>", "../etc", ".", "..", "~", "~41", "", "a~b", "%", "\n", "a:b"]


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_comes_back_from_its_address(name):
    address = reverse("jobs:job", args=["default", name, name])
    assert resolve(address).kwargs == {"connection": "default", "queue": name, "job_id": name}


def test_no_two_names_share_an_address():
    addresses = [reverse("jobs:job", args=["default", "orders", name]) for name in ODD]
    assert len(set(addresses)) == len(ODD)


def test_plain_names_stay_readable():
    assert reverse("jobs:job", args=["default", "high.priority", "4f2c-a_b"]) == "/jobs/default/high.priority/4f2c-a_b/"


@pytest.mark.parametrize("segment", ["~4", "~41", "~zz", "~C3", "~00", "..", "~2f", "a~~"])
def test_a_segment_that_we_would_not_write_has_no_page(segment):
    with pytest.raises(Resolver404):
        resolve(f"/jobs/default/orders/{segment}/")


@settings(max_examples=200)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_any_text_comes_back(name):
    converter = NameConverter()
    assert converter.to_python(converter.to_url(name)) == name
