"""Outputs are checked before anything is spent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from understudy.cli.paths import check_input, check_outputs
from understudy.errors import Refused, TableError


def test_good_names_pass(tmp_path: Path) -> None:
    (tmp_path / "in.csv").touch()
    check_outputs([tmp_path / "out.csv", None], inputs=[tmp_path / "in.csv", None], rows=tmp_path / "out.csv")


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_an_input_under_another_name_is_still_the_input(tmp_path: Path, link) -> None:
    (tmp_path / "in.csv").touch()
    link(tmp_path / "in.csv", tmp_path / "other.csv")
    with pytest.raises(Refused, match="Name another"):
        check_outputs([tmp_path / "other.csv"], inputs=[tmp_path / "in.csv"])


def test_two_outputs_under_one_name(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        check_outputs([tmp_path / "x", tmp_path / "." / "x"], inputs=[])


def test_an_output_that_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        check_outputs([tmp_path], inputs=[])


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no directory"):
        check_outputs([tmp_path / "no" / "x"], inputs=[])


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(Refused, match="cannot be written"):
        check_outputs([tmp_path / "x"], inputs=[])


def test_an_input_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(TableError):
        check_input(tmp_path)
    with pytest.raises(TableError):
        check_input(tmp_path / "no.csv")
