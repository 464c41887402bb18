"""One observer leads at a time; another takes over when that one has stopped or is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.ledger.observing import observer_state
from jobs.observer.lease import Lease

pytestmark = pytest.mark.django_db


def later(now, seconds):
    return now + timedelta(seconds=seconds)


def test_the_first_one_leads_and_the_second_waits(now):
    first, second = Lease(host="a", pid=1), Lease(host="b", pid=2)
    assert first.hold(now, {}) and not second.hold(later(now, 1), {})
    assert first.hold(later(now, 2), {})
    state = observer_state()
    assert (state.holder, state.host, state.pid, state.leads_since) == (first.holder, "a", 1, now)
    assert state.lease_until == later(now, 2 + 15)


def test_a_leader_that_is_lost_is_followed_after_fifteen_seconds(now):
    lost, heir = Lease(), Lease()
    lost.hold(now, {})
    assert not heir.hold(later(now, 15), {})
    assert heir.hold(later(now, 15.001), {})
    assert not lost.hold(later(now, 16), {})


def test_a_leader_that_stops_is_followed_at_once(now):
    first, second = Lease(), Lease()
    first.hold(now, {})
    first.give_back({"report": {"default": {}}})
    assert second.hold(later(now, 0.001), {})
    assert observer_state().report == {"default": {}}


def test_a_lease_that_ran_out_while_nobody_wanted_it_goes_on(now):
    lease = Lease()
    lease.hold(now, {})
    assert lease.hold(later(now, 60), {})
    assert observer_state().leads_since == now


def test_what_an_observer_says_that_leads_no_more_is_not_kept(now):
    lost, heir = Lease(), Lease()
    lost.hold(now, {})
    heir.hold(later(now, 20), {"report": {"heir": 1}})
    heir.hold(later(now, 21), {"report": {"heir": 1}})
    assert not lost.hold(later(now, 22), {"report": {"lost": 1}})
    lost.give_back({"report": {"lost": 1}})
    state = observer_state()
    assert (state.report, state.holder) == ({"heir": 1}, heir.holder)
