"""Outputs are checked before anything is spent."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from understudy.cli.paths import check_input, check_outputs
from understudy.errors import Refused, TableError


def test_good_names_pass(tmp_path: Path) -> None:
    (tmp_path / "in.csv").touch()
    check_outputs(
        [tmp_path / "out.csv", None],
        inputs=[tmp_path / "in.csv", None],
        rows=tmp_path / "out.csv",
    )


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_an_input_under_another_name_is_still_the_input(tmp_path: Path, link) -> None:
    (tmp_path / "in.csv").touch()
    link(tmp_path / "in.csv", tmp_path / "other.csv")
    with pytest.raises(Refused, match="Name another"):
        check_outputs([tmp_path / "other.csv"], inputs=[tmp_path / "in.csv"])


def test_rows_beside_the_files_of_a_pattern_that_does_not_mean_them(
    tmp_path: Path,
) -> None:
    for year in (2023, 2024):
        (tmp_path / f"y{year}.csv").touch()
    meant, other = tmp_path / "y2025.csv", tmp_path / "made.csv"
    check_outputs([other], inputs=[tmp_path / "y*.csv"], rows=other)
    with pytest.raises(Refused, match="lies in the folder"):
        check_outputs([meant], inputs=[tmp_path / "y*.csv"], rows=meant)
    with pytest.raises(Refused, match="lies in the folder"):
        check_outputs([other], inputs=[tmp_path], rows=other)


def test_two_outputs_under_one_name(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        check_outputs([tmp_path / "x", tmp_path / "." / "x"], inputs=[])


def test_an_output_that_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        check_outputs([tmp_path], inputs=[])


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no directory"):
        check_outputs([tmp_path / "no" / "x"], inputs=[])


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    """Looked at by somebody who is not the superuser, who may write anywhere."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            check_outputs([folder / "x"], inputs=[])
        except Refused as error:
            code = 0 if "cannot be written" in str(error) else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    folder.rmdir()
    assert os.waitstatus_to_exitcode(status) == 0


def test_an_input_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(TableError):
        check_input(tmp_path)
    with pytest.raises(TableError):
        check_input(tmp_path / "no.csv")
