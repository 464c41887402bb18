"""The trials as acceptance tests; `python -m tests.trials` shows them to people."""

from __future__ import annotations

import pytest

from tests.support import database
from tests.trials.scene import a_scene
from tests.trials.trials import TRIALS

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_holds(name, tmp_path):
    said = []
    with a_scene(tmp_path / "site", database.url(), said.append) as scene:
        TRIALS[name](scene)
    # Who watches is told of the wish, of what is done and of what comes of it.
    assert len(said) >= 5
