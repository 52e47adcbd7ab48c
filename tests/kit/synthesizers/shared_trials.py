"""One run for all conformance checks that ask for the same one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from understudy.accounting.neighbours import Neighbours
from understudy.testing import conformance, trial
from understudy.testing.trial import TRIAL_DELTA, TRIAL_EPSILON, Trial, run_trial


@pytest.fixture(scope="module")
def shared_trials() -> Iterator[None]:
    """Checks of one synthesizer that ask for the same rows and budget get the same run:
    a run is made of the real curator, and no check changes it.
    """
    made: dict[tuple[object, ...], Trial | None] = {}

    defaults = {
        "epsilon": TRIAL_EPSILON,
        "delta": TRIAL_DELTA,
        "neighbours": Neighbours.ADD_REMOVE,
    }

    def share_trial(synthesizer, open_curator, schema, rows, **how):
        terms = defaults | how
        asked = synthesizer, repr((schema, rows)), *terms.values()
        if asked not in made:
            # Of one synthesizer at a time: its checks follow one another.
            if any(known[0] != synthesizer for known in made):
                made.clear()
            made[asked] = run_trial(synthesizer, open_curator, schema, rows, **terms)
        return made[asked]

    with pytest.MonkeyPatch.context() as patch:
        for module in (conformance, trial):
            patch.setattr(module, "run_trial", share_trial)
        yield
