"""Private directories: gone with their process, whoever sweeps; everything else is left
alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kit.scratch import keeper, orphan
from understudy.scratch import HIDDEN_SCRATCH_PREFIX, Scratch, sweep_orphans
from understudy.tables.sql.engine import Engine

STRANGER = 65534
"""The user id of nobody."""


def test_what_a_killed_process_left_is_swept_when_the_next_table_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = orphan(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine = Engine()
    assert not left.exists()
    assert engine.directory.is_dir()
    engine.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM])
def test_whatever_killed_it(tmp_path: Path, number: signal.Signals) -> None:
    with keeper(tmp_path) as (process, home):
        process.send_signal(number)
        process.wait()
        assert home.is_dir()
    sweep_orphans(tmp_path)
    assert not home.exists()


def test_what_a_live_process_keeps_is_never_swept(tmp_path: Path) -> None:
    with keeper(tmp_path) as (_, home):
        sweep_orphans(tmp_path)
        assert (home / "rows" / "spill" / "cells").read_text() == "34,F,no"


def test_nor_is_what_this_process_keeps_itself(tmp_path: Path) -> None:
    first, second = Scratch(tmp_path), Scratch(tmp_path, prefix=HIDDEN_SCRATCH_PREFIX)
    first.make()
    second.make()
    sweep_orphans(tmp_path)
    assert first.rows.is_dir()
    assert second.rows.is_dir()
    first.remove()
    second.remove()
    assert list(tmp_path.iterdir()) == []


CROWD = """
import sys
from pathlib import Path
from understudy.scratch import Scratch

for _ in range(100):
    scratch = Scratch(Path(sys.argv[1]))
    scratch.make()
    (scratch.rows / "cells").write_text("34,F,no")
    assert (scratch.rows / "cells").read_text() == "34,F,no"
    scratch.remove()
    assert not scratch.home.exists()
"""


def test_processes_that_make_sweep_and_remove_at_once_do_not_disturb_each_other(
    tmp_path: Path,
) -> None:
    crowd = [
        subprocess.Popen([sys.executable, "-c", CROWD, str(tmp_path)]) for _ in range(4)
    ]
    assert [process.wait(timeout=120) for process in crowd] == [0] * 4
    assert list(tmp_path.iterdir()) == []


def test_another_user_s_directory_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = orphan(tmp_path)
    if os.geteuid() == 0:
        os.chown(left, STRANGER, STRANGER)
    else:  # who may not give a directory away becomes the stranger
        monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    sweep_orphans(tmp_path)
    assert (left / "rows" / "spill" / "cells").is_file()


def test_a_link_with_our_name_leads_nowhere(tmp_path: Path) -> None:
    """To a directory that would be swept, were it here."""
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    elsewhere.mkdir()
    here.mkdir()
    left = orphan(elsewhere)
    (here / left.name).symlink_to(left)
    sweep_orphans(here)
    assert (left / "rows" / "spill" / "cells").is_file()


@pytest.mark.parametrize("trap", ["rows", "lock", "cells"])
def test_a_link_inside_an_orphan_is_not_followed(tmp_path: Path, trap: str) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("years of work")
    left = orphan(tmp_path)
    if trap == "rows":
        (left / "rows").rename(tmp_path / "moved")
        (left / "rows").symlink_to(precious)
    elif trap == "lock":
        (left / "lock").unlink()
        (left / "lock").symlink_to(precious / "thesis")
    else:
        (left / "rows" / "more").symlink_to(precious)
    sweep_orphans(tmp_path)
    assert (precious / "thesis").read_text() == "years of work"


def test_a_directory_that_is_only_just_made_is_left_alone(tmp_path: Path) -> None:
    born = tmp_path / f"understudy-{'0' * 16}"
    born.mkdir()
    (born / "lock.draft").touch()
    sweep_orphans(tmp_path)
    assert born.is_dir()


@pytest.mark.parametrize(
    "name", ["understudy-notes", "understudy-0123", "my-understudy-0123456789abcdef"]
)
def test_other_names_are_left_alone(tmp_path: Path, name: str) -> None:
    left = orphan(tmp_path).rename(tmp_path / name)
    sweep_orphans(tmp_path)
    assert (left / "rows" / "spill" / "cells").is_file()


def test_a_lock_of_another_machine_is_not_judged(tmp_path: Path) -> None:
    """On a shared file system its process may live although no lock is seen from here."""
    left = orphan(tmp_path)
    (left / "lock").write_text("node-17\n6c1e7b3a-another-boot")
    sweep_orphans(tmp_path)
    assert left.is_dir()


def test_a_lock_that_a_power_cut_emptied_holds_nobody(tmp_path: Path) -> None:
    left = orphan(tmp_path)
    (left / "lock").write_text("")
    sweep_orphans(tmp_path)
    assert not left.exists()


def test_a_sweep_that_was_cut_off_is_finished_by_the_next(tmp_path: Path) -> None:
    """Rows go first, the lock last."""
    left = orphan(tmp_path)
    (left / "rows" / "spill" / "cells").unlink()
    (left / "rows" / "spill").rmdir()
    (left / "rows").rmdir()
    sweep_orphans(tmp_path)
    assert not left.exists()


def test_a_forked_child_leaves_it_to_its_maker(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    scratch.make()
    child = os.fork()
    if child == 0:
        scratch.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert scratch.rows.is_dir()
    scratch.remove()
    assert not scratch.home.exists()


def test_a_folder_that_is_not_there_has_nothing_to_sweep(tmp_path: Path) -> None:
    sweep_orphans(tmp_path / "nowhere")
