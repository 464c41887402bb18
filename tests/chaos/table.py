"""What has to come out: class × point × event, written by hand from the crash points C1 to C19 (protocol, 1.5).

A cell says how the operation ends, how often its effect happened, and how its attempts ended, in order:
`unknown 1: lost`. `+`: a delivery was skipped as a duplicate; `-`: one was refused; `?`: either. `!`: an incident is
on record (contradicting evidence). `=` repeats the cell to the left.

The points, in the write order: after_accept (C1, W0 is not committed), before_push (C2), after_push (C3), queued (C4),
before_claim (C5), after_claim (C6), after_intent (C7), in_call (C8: the request is sent and not carried out yet),
after_call (C8), after_complete and before_finish (C9), after_finish (C10); call: how the other side answers (C11).
freeze is C12, twice C13, [enclose] C14, settled.restored C16, stop C17, [gone] C18, [swallow] C19.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

TABLE = """
[act: repeatable keyed checkable unsafe]
after_accept   | kill_horse   | none 0 | = | = | =
after_accept   | raise        | none 0 | = | = | =
after_accept   | no_database  | none 0 | = | = | =
before_push    | kill_horse   | completed 1: completed | = | = | =
before_push    | raise        | completed 1: completed | = | = | =
before_push    | no_redis     | completed 1: completed | = | = | =
before_push    | no_database  | completed 1: completed | = | = | =
after_push     | kill_horse   | completed 1: completed | = | = | =
after_push     | raise        | completed 1: completed | = | = | =
after_push     | no_database  | completed 1: completed | = | = | =
queued         | lost_hash    | completed 1: completed | = | = | =
queued         | lost_place   | completed 1: completed | = | = | =
queued         | lost_all     | completed 1: completed | = | = | =
queued         | doubled      | completed 1: completed ? | = | = | =

before_claim   | kill_horse   | completed 1: completed | = | = | =
before_claim   | kill_worker  | completed 1: completed | = | = | =
before_claim   | kill_both    | completed 1: completed | = | = | =
before_claim   | stop         | completed 1: completed | = | = | =
before_claim   | freeze       | completed 1: completed | = | = | =
before_claim   | timeout      | completed 1: completed | = | = | =
before_claim   | raise        | completed 1: completed | = | = | =
before_claim   | no_database  | completed 1: completed | = | = | =
before_claim   | freeze_with_alarm | completed 1: completed | = | = | =
before_claim   | flush        | completed 1: completed | = | = | =
before_claim   | twice        | completed 1: completed ? | = | = | =
before_claim   | observer     | completed 1: completed | = | = | =

after_claim    | kill_horse   | completed 1: lost completed | = | = | =
after_claim    | kill_worker  | completed 1: completed | = | = | =
after_claim    | kill_both    | completed 1: lost completed | = | = | =
after_claim    | stop         | completed 1: lost completed | = | = | =
after_claim    | freeze       | completed 1: superseded completed | = | = | =
after_claim    | freeze_with_alarm | completed 1: lost completed | = | = | =
after_claim    | timeout      | completed 1: lost completed | = | = | =
after_claim    | raise        | completed 1: lost completed | = | = | =
after_claim    | no_database  | completed 1: lost completed | = | = | =
after_claim    | database_cut | completed 1: retrying completed | = | = | =
after_claim    | flush        | completed 1: completed | = | = | =
after_claim    | twice        | completed 1: completed - | = | = | =
after_claim    | observer     | completed 1: completed | = | = | =

after_intent   | kill_horse   | completed 1: lost completed | = | = | unknown 0: lost
after_intent   | kill_worker  | completed 1: completed | = | = | =
after_intent   | kill_both    | completed 1: lost completed | = | = | unknown 0: lost
after_intent   | stop         | completed 1: lost completed | = | = | unknown 0: lost
after_intent   | freeze       | completed 2: superseded completed | completed 1: superseded completed | \
completed 2: superseded completed ! | completed 1: superseded completed
after_intent   | freeze_with_alarm | completed 1: superseded completed | = | = | unknown 0: superseded
after_intent   | timeout      | completed 1: retrying completed | = | = | unknown 0: unknown
after_intent   | raise        | completed 1: retrying completed | = | = | unknown 0: unknown
after_intent   | no_database  | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_intent   | database_cut | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown
after_intent   | flush        | completed 1: completed | = | = | =
after_intent   | twice        | completed 1: completed - | = | = | =
after_intent   | observer     | completed 1: completed | = | = | =

in_call        | kill_horse   | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
in_call        | kill_worker  | completed 1: completed | = | = | =
in_call        | kill_both    | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
in_call        | stop         | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
in_call        | freeze       | completed 2: superseded completed | completed 1: superseded completed | = | =
in_call        | freeze_with_alarm | completed 2: superseded completed | completed 1: superseded completed | = | \
unknown 1: superseded
in_call        | timeout      | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown
in_call        | raise        | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown
in_call        | no_database  | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
in_call        | database_cut | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown
in_call        | flush        | completed 1: completed | = | = | =
in_call        | twice        | completed 1: completed - | = | = | =
in_call        | observer     | completed 1: completed | = | = | =

after_call     | kill_horse   | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_call     | out_of_memory | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_call     | kill_worker  | completed 1: completed | = | = | =
after_call     | kill_both    | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_call     | stop         | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_call     | freeze       | completed 2: superseded completed | completed 1: superseded completed | = | =
after_call     | freeze_with_alarm | completed 2: superseded completed | completed 1: superseded completed | = | \
unknown 1: superseded
after_call     | timeout      | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown
after_call     | raise        | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown
after_call     | no_database  | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_call     | database_cut | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown
after_call     | flush        | completed 1: completed | = | = | =
after_call     | twice        | completed 1: completed - | = | = | =
after_call     | observer     | completed 1: completed | = | = | =

after_complete | kill_horse   | completed 1: lost completed | = | = | =
after_complete | kill_worker  | completed 1: completed | = | = | =
after_complete | kill_both    | completed 1: lost completed | = | = | =
after_complete | stop         | completed 1: lost completed | = | = | =
after_complete | freeze       | completed 1: superseded completed | = | = | =
after_complete | freeze_with_alarm | completed 1: superseded completed | = | = | =
after_complete | timeout      | completed 1: retrying completed | = | = | =
after_complete | raise        | completed 1: retrying completed | = | = | =
after_complete | no_database  | completed 1: lost completed | = | = | =
after_complete | database_cut | completed 1: retrying completed | = | = | =
after_complete | flush        | completed 1: completed | = | = | =
after_complete | twice        | completed 1: completed - | = | = | =
after_complete | observer     | completed 1: completed | = | = | =

before_finish  | kill_horse   | completed 1: lost completed | = | = | =
before_finish  | kill_worker  | completed 1: completed | = | = | =
before_finish  | kill_both    | completed 1: lost completed | = | = | =
before_finish  | stop         | completed 1: lost completed | = | = | =
before_finish  | freeze       | completed 1: superseded completed | = | = | =
before_finish  | freeze_with_alarm | completed 1: superseded completed | = | = | =
before_finish  | timeout      | completed 1: retrying completed | = | = | =
before_finish  | raise        | completed 1: retrying completed | = | = | =
before_finish  | no_database  | completed 1: lost completed | = | = | =
before_finish  | database_cut | completed 1: retrying completed | = | = | =
before_finish  | flush        | completed 1: completed | = | = | =
before_finish  | twice        | completed 1: completed - | = | = | =
before_finish  | observer     | completed 1: completed | = | = | =

after_finish   | kill_horse   | completed 1: completed | = | = | =
after_finish   | kill_worker  | completed 1: completed | = | = | =
after_finish   | kill_both    | completed 1: completed | = | = | =
after_finish   | stop         | completed 1: completed | = | = | =
after_finish   | freeze       | completed 1: completed | = | = | =
after_finish   | freeze_with_alarm | completed 1: completed | = | = | =
after_finish   | timeout      | completed 1: completed | = | = | =
after_finish   | raise        | completed 1: completed | = | = | =
after_finish   | no_database  | completed 1: completed | = | = | =
after_finish   | database_cut | completed 1: completed | = | = | =
after_finish   | flush        | completed 1: completed | = | = | =
after_finish   | twice        | completed 1: completed + | = | = | =
after_finish   | observer     | completed 1: completed | = | = | =

call           | refused      | completed 1: retrying completed | = | = | =
call           | drop_request | completed 1: retrying completed | = | = | unknown 0: unknown
call           | drop_answer  | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown
call           | error_after  | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown
call           | error_before | completed 1: retrying completed | = | = | unknown 0: unknown
call           | turned_down  | failed 0: failed | = | = | =
call           | too_many     | completed 1: retrying completed | = | = | =

after_intent.raise+after_failure | kill_horse | completed 1: retrying completed | = | = | unknown 0: unknown
after_intent.raise+after_failure | kill_both  | completed 1: retrying completed | = | = | unknown 0: unknown
after_intent.raise+after_failure | flush      | completed 1: retrying completed | = | = | unknown 0: unknown
settled        | restored     | completed 1: completed + | = | = | =
after_call.raise+settled | restored | completed 2: retrying completed + | completed 1: retrying completed + | = | \
unknown 1: unknown -

[act: checkable]
after_call.raise+before_probe   | kill_horse  | completed 1: retrying lost completed
after_call.raise+before_probe   | kill_both   | completed 1: retrying lost completed
after_call.raise+before_probe   | raise       | completed 1: retrying retrying completed
after_call.raise+before_probe   | timeout     | completed 1: retrying retrying completed
after_call.raise+before_probe   | freeze      | completed 1: retrying superseded completed
after_call.raise+before_probe   | no_database | completed 1: retrying lost completed
after_call.raise+after_probe    | kill_horse  | completed 1: retrying lost completed
after_call.raise+after_probe    | no_database | completed 1: retrying lost completed
after_intent.raise+after_probe  | kill_horse  | completed 1: retrying lost completed
after_intent.raise+after_probe  | raise       | completed 1: retrying retrying completed
after_intent.raise+after_probe  | freeze      | completed 1: retrying superseded completed
after_intent.raise+after_probe  | no_database | completed 1: retrying lost completed

[act: short_keyed]
after_intent   | freeze_with_alarm | unknown 0: superseded
after_call     | freeze_with_alarm | unknown 1: superseded

[act_declared: repeatable keyed checkable unsafe]
after_complete | kill_horse   | completed 1: lost | = | = | =
before_finish  | kill_both    | completed 1: lost | = | = | =
after_complete | freeze       | completed 1: superseded | = | = | =

[swallow: repeatable keyed checkable unsafe]
call           | drop_answer  | completed 2: unknown completed | completed 1: unknown completed | = | unknown 1: unknown
call           | drop_request | completed 1: unknown completed | = | = | unknown 0: unknown

[enclose: repeatable keyed checkable unsafe]
in_call        | observer     | failed 0: retrying retrying retrying retrying failed | = | = | =

[write_down: local]
after_claim         | kill_horse  | completed 1: lost completed
before_atomic_commit | kill_horse | completed 1: lost completed
before_atomic_commit | kill_both  | completed 1: lost completed
before_atomic_commit | kill_worker | completed 1: completed
before_atomic_commit | raise      | completed 1: retrying completed
before_atomic_commit | timeout    | completed 1: retrying completed
before_atomic_commit | no_database | completed 1: lost completed
before_atomic_commit | database_cut | completed 1: retrying completed
before_atomic_commit | flush      | completed 1: completed
before_finish       | kill_horse  | completed 1: lost completed
before_finish       | freeze      | completed 1: superseded completed
before_finish       | raise       | completed 1: retrying completed
after_finish        | twice       | completed 1: completed +

[export: file]
in_file        | kill_horse   | completed 1: lost completed
in_file        | kill_worker  | completed 1: completed
in_file        | freeze       | completed 1: superseded completed
in_file        | timeout      | completed 1: retrying completed
in_file        | raise        | completed 1: retrying completed
in_file        | no_database  | completed 1: lost completed
before_rename  | kill_horse   | completed 1: lost completed
before_rename  | kill_both    | completed 1: lost completed
before_rename  | freeze       | completed 1: superseded completed
before_rename  | raise        | completed 1: retrying completed
after_rename   | kill_horse   | completed 1: lost completed
after_rename   | kill_worker  | completed 1: completed
after_rename   | freeze       | completed 1: superseded completed
after_rename   | raise        | completed 1: retrying completed
after_rename   | no_database  | completed 1: lost completed

[act@mortal: repeatable keyed checkable unsafe]
before_claim   | kill_worker  | completed 1: completed | = | = | =
after_claim    | kill_worker  | completed 1: lost completed | = | = | =
after_intent   | kill_worker  | completed 1: lost completed | = | = | unknown 0: lost
after_call     | out_of_memory | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_call     | kill_worker  | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
before_finish  | kill_worker  | completed 1: lost completed | = | = | =

[act@simple: repeatable keyed checkable unsafe]
after_claim    | kill_horse   | completed 1: lost completed | = | = | =
after_intent   | kill_horse   | completed 1: lost completed | = | = | unknown 0: lost
after_intent   | timeout      | completed 1: retrying completed | = | = | unknown 0: unknown
after_call     | kill_horse   | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_call     | raise        | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown
before_finish  | kill_horse   | completed 1: lost completed | = | = | =
after_finish   | twice        | completed 1: completed + | = | = | =

[act@spawn: repeatable keyed checkable unsafe]
after_claim    | kill_horse   | completed 1: lost completed | = | = | =
after_intent   | kill_both    | completed 1: lost completed | = | = | unknown 0: lost
after_call     | kill_horse   | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_call     | out_of_memory | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_call     | kill_worker  | completed 1: completed | = | = | =

[act@old_fork: repeatable keyed checkable unsafe]
before_claim   | kill_horse   | completed 1: completed | = | = | =
after_claim    | kill_horse   | completed 1: lost completed | = | = | =
after_intent   | kill_horse   | completed 1: lost completed | = | = | unknown 0: lost
after_intent   | kill_worker  | completed 1: completed | = | = | =
after_intent   | raise        | completed 1: retrying completed | = | = | unknown 0: unknown
after_call     | kill_both    | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_call     | timeout      | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown
after_call     | freeze       | completed 2: superseded completed | completed 1: superseded completed | = | =
after_complete | kill_horse   | completed 1: lost completed | = | = | =
after_finish   | twice        | completed 1: completed + | = | = | =

[act@old_simple: repeatable keyed checkable unsafe]
after_call     | kill_horse   | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost
after_call     | raise        | completed 2: retrying completed | completed 1: retrying completed | = | \
unknown 1: unknown

[act@old_spawn: repeatable keyed checkable unsafe]
after_call     | kill_horse   | completed 2: lost completed | completed 1: lost completed | = | unknown 1: lost

[gone: repeatable]
queued         | untouched    | failed 0
"""

IMPOSSIBLE = """
after_accept, before_push, after_push | kill_worker, kill_both, stop, freeze, freeze_with_alarm, timeout, twice | \
the submitting process is no job: RQ has no worker, no time limit and no stop for it, and it holds no lease
after_accept, before_push, after_push | flush, observer | as queued.lost_all and before_claim.observer: \
what is not committed nobody sees, and what is committed is looked after from the database alone
after_accept, after_push | no_redis | the job store is not asked there
before_claim | database_cut | the process has no session with the database yet
every point | database_cut, on SQLite | a file has no sessions that could be ended; no_database is its loss
before_probe, after_probe | every event, repeatable, keyed and unsafe | only the checkable is asked about
before_atomic_commit | freeze, freeze_with_alarm | it holds the lock of the database (SQLite) or of its row: whoever \
takes it over waits for it, so that it is a freeze after the commit or before the transaction
in_call | every event, local and file | they call nobody
queued | every event of a process | no process has it
C14 | every event but one | what the enclosing transaction forbids is refused before anything is begun
C15 | every event | the database restored to an earlier point is no part of this release
C18 | every event of a process | the code that would pass the points is not there
"""
"""Combinations that there are not, and why; in the words of the table."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One combination: which job of `work`, on which kind of worker, of which class, what happens to it where."""

    job: str
    queue: str
    kind: str
    faults: str
    expected: str

    @property
    def name(self) -> str:
        """As a key, after its number."""
        return f"{self.job}@{self.queue}~{self.kind}~{self.faults}"

    @property
    def events(self) -> list[str]:
        """What happens, without the points."""
        return [one.partition(".")[2] for one in self.faults.split("+")]

    @property
    def point(self) -> str:
        """Where the last of it happens."""
        return self.faults.split("+")[-1].partition(".")[0]


def rows() -> list[Row]:
    """The whole table."""
    return list(_parse(TABLE))


# ----------------------------------------------------------------------------------------------------------------------


def _parse(text: str) -> Iterator[Row]:
    job, queue, kinds = "", "", [""]
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            place, _, names = line.strip("[]").partition(":")
            job, _, queue = place.partition("@")
            kinds = names.split()
            continue
        point, event, *cells = (part.strip() for part in line.split("|"))
        for kind, cell in zip(kinds, _spelt_out(cells), strict=True):
            yield Row(job=job, queue=queue or "fork", kind=kind, faults=f"{point}.{event}", expected=cell)


def _spelt_out(cells: list[str]) -> Iterator[str]:
    last = ""
    for cell in cells:
        last = last if cell == "=" else cell
        yield last
