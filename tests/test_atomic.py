"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat

import pytest

from kit.permissions import PRIVATE, PRIVATE_FOLDER, PUBLIC, modes
from understudy.atomic import write_file_atomically
from understudy.errors import ReleaseError


def names(folder):
    return [path.name for path in folder.iterdir()]


def test_a_file_appears_when_all_went_well(tmp_path):
    with write_file_atomically(tmp_path / "a.txt", private=False) as draft:
        draft.write_text("new")
        assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "a.txt").read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, RuntimeError, SystemExit, MemoryError]
)
def test_nothing_is_left_when_something_went_wrong(tmp_path, error):
    (tmp_path / "a.txt").write_text("old")

    def fail():
        with write_file_atomically(tmp_path / "a.txt", private=False) as draft:
            draft.write_text("half")
            (draft.parent / "part").write_text("more")
            raise error

    with pytest.raises(error):
        fail()
    assert (tmp_path / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_permissions_are_those_of_any_new_file_or_of_the_old_one(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("x")
    with write_file_atomically(tmp_path / "new", private=False) as draft:
        draft.write_text("y")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == stat.S_IMODE(
        plain.stat().st_mode
    )
    plain.chmod(0o600)
    with write_file_atomically(plain, private=False) as draft:
        draft.write_text("z")
    assert stat.S_IMODE(plain.stat().st_mode) == 0o600
    assert plain.read_text() == "z"


def test_a_private_file_is_its_owners_alone_whoever_could_read_the_old_one(
    tmp_path, permissive
):
    (tmp_path / "old").write_text("x")
    (tmp_path / "linked").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "linked")
    assert modes(tmp_path)["old"] == PUBLIC
    for name in ("old", "new", "link"):
        with write_file_atomically(tmp_path / name, private=True) as draft:
            draft.write_text("y")
            assert modes(tmp_path)[draft.parent.name] == PRIVATE_FOLDER, (
                "nobody looks on while it is written"
            )
    assert modes(tmp_path) == {
        "old": PRIVATE,
        "new": PRIVATE,
        "linked": PRIVATE,
        "link": PRIVATE,
    }
    assert (tmp_path / "link").is_symlink()


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with write_file_atomically(tmp_path / "link", private=False) as draft:
        draft.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_what_is_no_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "where" / "a.txt"):
        with (
            pytest.raises(ReleaseError, match="Nothing was written") as caught,
            write_file_atomically(path, private=False) as draft,
        ):
            draft.write_text("x")
        assert "\n" not in str(caught.value)


def test_two_writers_do_not_meet(tmp_path):
    with (
        write_file_atomically(tmp_path / "a", private=False) as one,
        write_file_atomically(tmp_path / "a", private=False) as two,
    ):
        one.write_text("one")
        two.write_text("two")
    assert (tmp_path / "a").read_text() == "one"
    assert names(tmp_path) == ["a"]


def test_an_interrupt_in_the_instant_a_room_is_made_leaves_none(tmp_path, monkeypatch):
    make = os.mkdir

    def made_and_interrupted(*words, **named):
        make(*words, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "mkdir", made_and_interrupted)
    with (
        pytest.raises(KeyboardInterrupt),
        write_file_atomically(tmp_path / "a.txt", private=False),
    ):
        pass
    assert names(tmp_path) == []
