"""The picture of docs/trust.md is the one that its script draws, and says what the page
says.
"""

from __future__ import annotations

from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))


def test_the_picture_is_current() -> None:
    import trust

    assert trust.PICTURE.read_text(encoding="utf-8") == trust.draw_picture()


def test_the_figures_of_the_page() -> None:
    import trust

    n = 100_000
    found = [model(1.0, n) for model, _ in trust.MODELS.values()]
    assert found == pytest.approx([5.96e-3, 3.3e-4, 1.36e-5], rel=0.05)
    # Four times the respondents halve the error of one and quarter that of the other.
    assert trust.local_error(1, 4 * n) == pytest.approx(found[0] / 2, rel=1e-6)
    assert trust.central_error(1, 4 * n) == pytest.approx(found[2] / 4)
