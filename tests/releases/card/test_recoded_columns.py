"""What learning made of cells is told wherever a release is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.releases.card.recoded_columns import rare_rows_by_column, recoding_lines
from understudy.releases.release import load_release


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> us.Release:
    """Common labels and some of which each is one person's; numbers between bounds
    nobody declared.
    """
    folder: Path = tmp_path_factory.mktemp("recoding")
    rng = np.random.default_rng(5)
    words = [f"rare{i}" if i % 10 == 0 else "common" for i in range(4000)]
    rows = pa.table(
        {
            "word": words,
            "number": rng.normal(50, 10, 4000).round(1),
            "sex": rng.choice(["F", "M"], 4000),
        }
    )
    release = us.synthesize(
        rows, epsilon=5, ledger=folder / "a.ledger", synthesizer="independent"
    )
    release.save(folder / "a.understudy")
    return load_release(folder / "a.understudy")


def test_cells_that_became_others_are_told(made: us.Release):
    clipped, folded = recoding_lines(made.evidence)
    assert clipped == "Clipped to the bounds that were learned: number."
    word = f'Too rare to be shown, so "other" or what the schema makes of it: word (about {rare_rows_by_column(made.evidence)["word"]} rows)'
    assert folded.startswith(word)
    assert abs(rare_rows_by_column(made.evidence)["word"] - 400) < 100


def test_labels_are_not_called_rare_where_noise_explains_them(tmp_path: Path):
    """No label is rare here. Noise leaves some rows of `other` in the model of about
    half of the columns (69 of 144): that it leaves none in 24 has a probability below
    1e-6. It exceeds 3.5 deviations in one of 4,000: three of 24 have one below 1e-7.
    """
    rng = np.random.default_rng(3)
    columns = {f"c{i}": rng.choice(["yes", "no"], 3000) for i in range(24)}
    release = us.synthesize(
        pa.table(columns),
        epsilon=2,
        ledger=tmp_path / "a.ledger",
        synthesizer="independent",
    )
    others = [release.schema.codecs[name].other for name in columns]
    counts = [
        release.evidence.model.marginal((name,))[other]
        for name, other in zip(columns, others, strict=True)
    ]
    assert sum(round(float(count)) > 0 for count in counts) >= 1
    assert len(rare_rows_by_column(release.evidence)) < 3


def test_the_release_and_its_card_say_so(made: us.Release):
    for line in recoding_lines(made.evidence):
        assert line in repr(made)
        assert line in repr(made.card)
        assert line.replace('"', "&quot;") in made.card._repr_html_()


def test_a_declared_table_has_nothing_to_tell(tmp_path: Path):
    schema = us.Schema(columns=(us.Boolean(name="smoker", nullable=False),))
    release = us.synthesize(
        pa.table({"smoker": [True, False] * 50}),
        schema,
        epsilon=1,
        ledger=tmp_path / "a.ledger",
    )
    assert recoding_lines(release.evidence) == []
