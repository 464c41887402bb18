from __future__ import annotations

import pytest

from jobs.domain.idempotency import Idempotency, doubtful_class

CLASSES = list(Idempotency)


@pytest.mark.parametrize("kind", CLASSES)
def test_what_is_declared_as_before_is_repeated_as_before(kind):
    assert doubtful_class(kind, kind) is kind


@pytest.mark.parametrize(("first", "now"), [(a, b) for i, a in enumerate(CLASSES) for b in CLASSES[:i]])
def test_a_promise_that_is_given_later_does_not_hold_for_the_first_call(first, now):
    assert doubtful_class(first, now) is first


@pytest.mark.parametrize(("first", "now"), [(a, b) for i, a in enumerate(CLASSES) for b in CLASSES[i + 1 :]])
def test_where_less_is_promised_now_no_promise_holds(first, now):
    assert doubtful_class(first, now) is Idempotency.UNSAFE
