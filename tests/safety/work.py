"""Jobs that tests run as operations. What they are to do is laid out in `BEHAVIOUR`, by business key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jobs.safety import Backoff, Checkable, Keyed, Repeatable, Unsafe, hours, once, operation, seconds

BEHAVIOUR: dict[str, Callable[..., Any]] = {}
CALLS: list[str] = []
AT_ONCE = Backoff(max_attempts=3, base=0)


def do(key: str, handle: Any) -> Any:
    """What the other side does: counts the call, and behaves as it was told to."""
    CALLS.append(key)
    return BEHAVIOUR.get(key, lambda _handle: f"id-{key}")(handle)


def probe(handle: Any) -> Any:
    """What the other side says when it is asked."""
    return BEHAVIOUR["probe"](handle)


SAFETIES: dict[str, Any] = {
    "repeatable": Repeatable(),
    "keyed": Keyed(hours(24)),
    "checkable": Checkable(probe, settles_in=seconds(0)),
    "unsafe": Unsafe(),
}


@operation("plain:{order_id}", entity="order_id", retry=AT_ONCE)
def touch(order_id: int) -> str:
    """A job without an effect outside."""
    CALLS.append(f"touch-{order_id}")
    return BEHAVIOUR.get("touch", lambda _order: "touched")(order_id)


@operation("act:{kind}:{order_id}", entity="order_id", retry=AT_ONCE)
def act(kind: str, order_id: int) -> Any:
    """A job with one effect outside, of the kind that its first argument names."""
    return once("act", lambda handle: do(f"{kind}-{order_id}", handle), safety=SAFETIES[kind])


def once_more(order_id: int) -> Any:
    """An effect that code may ask for as often as it likes."""
    return once("more", lambda handle: do(f"more-{order_id}", handle), safety=Keyed(hours(24)))
