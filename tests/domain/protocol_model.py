"""All that can happen in the protocol, searched breadth first; what can happen next is in protocol_steps."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from jobs.domain.operations import TERMINAL
from tests.domain.protocol_steps import Protocol, State, Step, steps_from

MOST_STATES = 250_000


class Search(NamedTuple):
    """What a search came upon: each state with the step that first led to it, and the steps that lead on from it."""

    origins: dict[State, tuple[State, str] | None]
    steps: dict[State, list[Step]]

    def path_to(self, state: State) -> list[str]:
        """The names of the fewest steps that lead there."""
        names: list[str] = []
        while origin := self.origins[state]:
            state, name = origin
            names.append(name)
        return names[::-1]

    def first(self, is_wanted) -> list[str] | None:
        """The shortest way to a state of this kind; None when there is none."""
        return next((self.path_to(state) for state in self.origins if is_wanted(state)), None)

    @property
    def names(self) -> set[str]:
        """The names of all steps that can happen."""
        return {step.name for steps in self.steps.values() for step in steps}


def explore(protocol: Protocol, *, until=lambda state: False) -> Search:
    """All that can happen; it ends early at a state that is looked for, and fails if it grows on and on."""
    search = Search({State(): None}, {})
    waiting = deque([State()])
    with _no_collector():
        while waiting:
            state = waiting.popleft()
            search.steps[state] = steps = [_in_order(step) for step in steps_from(state, protocol)]
            for step in steps:
                if step.state not in search.origins:
                    search.origins[step.state] = (state, step.name)
                    waiting.append(step.state)
                    if until(step.state):
                        return search
            assert len(search.origins) < MOST_STATES, search.path_to(state)
    return search


def stuck_states(search: Search) -> list[State]:
    """The states from which no way leads to a terminal one, bad luck aside: it may not be needed to get out."""
    with _no_collector():
        before: dict[State, list[State]] = {}
        for state, steps in search.steps.items():
            for step in steps:
                if not step.is_luck:
                    before.setdefault(step.state, []).append(state)
        fine = {state for state in search.origins if state.status in TERMINAL}
        waiting = list(fine)
        while waiting:
            new = [state for state in before.get(waiting.pop(), ()) if state not in fine]
            fine.update(new)
            waiting += new
    return [state for state in search.origins if state not in fine]


# ----------------------------------------------------------------------------------------------------------------------


@contextmanager
def _no_collector() -> Iterator[None]:
    """Without looking for circles among a million tuples, where there is none: that takes half of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _in_order(step: Step) -> Step:
    """The slots are alike: of two states that differ in their order alone, one is looked at."""
    state = step.state
    one, other = ((state.workers[slot], state.holder == slot, state.begun_by == slot) for slot in (0, 1))
    if one <= other:
        return step
    holder, begun_by = (1 - whose if whose in (0, 1) else whose for whose in (state.holder, state.begun_by))
    return step._replace(
        state=state._replace(workers=state.workers[::-1], holder=holder, begun_by=begun_by),
    )
