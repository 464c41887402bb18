"""The last words of a start: where to look, who may sign in, and how to stop."""

from __future__ import annotations

from collections.abc import Sequence

from opsboard.runner.plan import Plan

_LOOK_FIRST = (
    "Look at Review first: two card charges were killed half-way, and only a person can find out\n"
    "whether the customer was charged. The page says how. The clerk sees another side of it: Exports,\n"
    "with a file to download, and one that could not be made. The mails about them are in {mails}."
)


def greeting(plan: Plan, lines: Sequence[str]) -> str:
    """The block to print. `lines` are what the demo, or the first access to the person's own RQ, has to say."""
    intro = "Accounts, each with its password:" if plan.has_demo else "Access:"
    first = [_LOOK_FIRST.format(mails=f"{plan.folder.name}/mail"), ""] if plan.has_demo else []
    told = [intro, *(f"  {line}" for line in lines), ""] if lines else []
    return "\n".join(
        [
            "",
            f"opsboard is ready: {plan.address}",
            "",
            *first,
            *told,
            "It answers on this machine only. From another one, first:",
            f"  ssh -L {plan.port}:127.0.0.1:{plan.port} THIS-MACHINE",
            f"Ctrl-C stops everything; what was stored stays in {plan.folder.name}/.",
            "",
        ]
    )
