"""What came of a run, for a person and for tests."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Line:
    """One row of the table, and what was found in its stead."""

    name: str
    expected: str
    found: str

    @property
    def is_right(self) -> bool:
        """Where RQ brings a retry a moment late, the observer brings it too, and one of the two is turned away."""
        expected = {self.expected.replace("?", mark) for mark in "+-"}
        if "retrying" in self.expected:
            expected |= {f"{self.expected}{marks}" for marks in (" +", " -", " + -")}
        return self.found in expected


@dataclass
class Report:
    """`counts`: of what the run is judged by, such as effects and duplicates."""

    lines: list[Line] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    unsettled: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        return not self.violations and not self.unsettled and all(line.is_right for line in self.lines)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def text(self, database: str, *, is_whole: bool) -> str:
        """The run in lines: what differs, the whole table where it was asked for, and the counts."""
        wrong = [line for line in self.lines if not line.is_right]
        return "\n".join(
            [
                *(f"{line.name}: {line.found}" for line in self.lines if is_whole and line.is_right),
                *(f"DIFFERS {line.name}: expected {line.expected!r}, found {line.found!r}" for line in wrong),
                *(f"UNSETTLED {one}" for one in self.unsettled),
                *(f"VIOLATION {one}" for one in self.violations),
                f"{database}: {len(self.lines) - len(wrong)} of {len(self.lines)} rows as expected, "
                f"{len(self.violations)} violations, {len(self.unsettled)} unsettled, {self.seconds} s",
                ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items())),
            ]
        )


def count_ends(found: list[str]) -> dict[str, int]:
    """How many operations ended in each way."""
    return dict(Counter(one.split()[0] for one in found))
