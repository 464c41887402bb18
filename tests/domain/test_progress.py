"""Of whatever a job says of itself, people are shown a share only where there is one."""

from __future__ import annotations

import pytest

from jobs.domain.progress import Progress

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("done", "total", "percent", "is_beyond"),
    [
        (12_000, 40_000, 30, False),
        (0, 40_000, 0, False),
        (39_999, 40_000, 99, False),
        (40_000, 40_000, 100, False),
        (40_001, 40_000, None, True),
        (0, 0, None, False),
        (1, 0, None, True),
        (12_000, None, None, False),
        (LARGEST - 1, LARGEST, 99, False),
        (LARGEST, LARGEST, 100, False),
    ],
)
def test_the_share_that_is_done(done, total, percent, is_beyond):
    progress = Progress(done, total)
    assert (progress.percent, progress.is_beyond) == (percent, is_beyond)
