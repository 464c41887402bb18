"""What can be done with ticked rows of a list, and what a row says of itself when it is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

FITTING: Mapping[str, Sequence[str]] = {
    "failed": ("retry_job", "delete_job"),
    "queued": ("cancel_job", "delete_job"),
    "scheduled": ("enqueue_job", "cancel_job", "delete_job"),
    "deferred": ("cancel_job", "delete_job"),
    "canceled": ("delete_job",),
    "finished": ("delete_job",),
}
"""What is offered in each list; nothing for jobs that are running."""
VERBS = frozenset(verb for verbs in FITTING.values() for verb in verbs)
ASKING = frozenset({"cancel_job", "delete_job"})
"""What is done only after a page that asks."""


class BadTick(ValueError):
    """The text of a row is none that a list of ours would send."""


@dataclass(frozen=True)
class Tick:
    """One job as a list showed it. `confirmed`: the code of the decision that the person was shown and agreed to."""

    queue: str
    job_id: str
    seen: str
    confirmed: str = ""

    def encode(self) -> str:
        """As one line of plain ASCII, whatever the names hold."""
        parts = (self.queue, self.job_id, self.seen, self.confirmed)
        return "/".join(quote(part, safe=":@") for part in parts).rstrip("/")


def decode(text: str, *, longest: int) -> Tick:
    """The tick behind a text. Names longer than `longest`, or with a NUL, are never acted on. Raises BadTick."""
    try:
        parts = [unquote(part, errors="strict") for part in text.split("/")]
    except UnicodeDecodeError:
        raise BadTick from None
    if not 2 <= len(parts) <= 4:
        raise BadTick
    tick = Tick(*parts, *[""] * (3 - len(parts)))
    if "\0" in text or "%00" in text or not tick.job_id or max(len(tick.queue), len(tick.job_id)) > longest:
        raise BadTick
    return tick
