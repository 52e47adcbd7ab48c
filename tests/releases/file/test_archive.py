"""The release file: the same bytes every time, everything back, and nothing hostile
gets in.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import tracemalloc
import zipfile
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from kit.releases import hostile
from kit.releases.builders import EVERY_TYPE, SMALL, codes_of, release
from understudy.accounting import Accounting, Cost, Law
from understudy.errors import ReleaseError, UnderstudyError
from understudy.measurements import Distance, measurement
from understudy.models import ProductModel
from understudy.releases import (
    Guarantee,
    Release,
    ReleaseKind,
    from_bytes,
    load_release,
    save,
    to_bytes,
)
from understudy.releases.file.archive import MAX_UNPACKING_RATIO

VARIANTS = [
    (schema, model)
    for schema in (SMALL, EVERY_TYPE)
    for model in ("product", "dense", "sparse")
]
WATCH = hostile.Watch()


@pytest.mark.parametrize(("schema", "model"), VARIANTS)
def test_a_release_comes_back_whole(schema, model, tmp_path):
    original = release(schema, model)
    save(original, tmp_path / "a.understudy")
    back = load_release(tmp_path / "a.understudy")
    assert to_bytes(back) == to_bytes(original)
    assert back.schema == original.schema
    assert back.guarantee == original.guarantee
    assert back.statement == original.statement
    assert [m.values.tolist() for m in back.measurements] == [
        m.values.tolist() for m in original.measurements
    ]
    assert back.measurements.gaps[0].distance == original.measurements.gaps[0].distance
    assert (
        back.measurements.gaps[0].estimate.tolist()
        == original.measurements.gaps[0].estimate.tolist()
    )
    assert (
        back.measurements.sparse[0].codes.tolist()
        == original.measurements.sparse[0].codes.tolist()
    )
    assert back.options == original.options
    assert list(tmp_path.iterdir()) == [tmp_path / "a.understudy"]


def test_a_reader_takes_an_array_for_every_pair_of_two_hundred_columns():
    members = hostile.unzip(to_bytes(release()))
    name = next(n for n in members if n.startswith("arrays/"))
    pairs = {f"arrays/{i:05d}.npy": members[name] for i in range(70_000, 90_100)}
    with pytest.raises(ReleaseError, match=r"release\.json does not name"):
        from_bytes(hostile.rezip(members | pairs, zipfile.ZIP_STORED))


def test_the_same_seed_gives_the_same_rows_on_another_machine():
    original = release(EVERY_TYPE, "product")
    back = from_bytes(to_bytes(original))
    assert back.sample(50, seed=7, kind="pyarrow").equals(
        original.sample(50, seed=7, kind="pyarrow")
    )


def test_tables_and_microdata_come_back_too():
    tables = release(kind=ReleaseKind.TABLES, model=None)
    assert from_bytes(to_bytes(tables)).kind is ReleaseKind.TABLES
    rows = release(
        kind=ReleaseKind.MICRODATA, model=None, microdata=codes_of(SMALL, 17)
    )
    back = from_bytes(to_bytes(rows))
    assert back.rows == 17
    assert (
        back.sample(kind="numpy")["sex"].tolist()
        == rows.sample(kind="numpy")["sex"].tolist()
    )


def test_the_same_release_gives_the_same_bytes():
    assert to_bytes(release()) == to_bytes(release())


def test_every_array_is_readable_by_numpy_and_holds_no_objects():
    with zipfile.ZipFile(io.BytesIO(to_bytes(release()))) as archive:
        for name in archive.namelist():
            if name.startswith("arrays/"):
                assert (
                    np.load(
                        io.BytesIO(archive.read(name)), allow_pickle=False
                    ).dtype.kind
                    in "ifu"
                )


def test_what_shrinks_too_well_is_stored_so_that_it_can_be_loaded():
    wide = EVERY_TYPE.with_column(
        type(EVERY_TYPE["age"])(
            name="age", min=0, max=49_999, bins=tuple(range(50_001)), nullable=False
        )
    )
    flat = Release(
        guarantee=Guarantee.without_data(),
        schema=wide,
        model=ProductModel.uniform(wide, 10.0),
    )
    data = to_bytes(flat)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert (
            max(i.file_size / max(i.compress_size, 1) for i in archive.infolist())
            < MAX_UNPACKING_RATIO
        )
    assert from_bytes(data).rows == 10


def test_a_later_version_is_named_as_such():
    members = hostile.unzip(to_bytes(release()))
    document = json.loads(members["release.json"])
    with pytest.raises(ReleaseError, match="written by a later version"):
        from_bytes(
            hostile.with_document(members, document | {"version": 99, "surprise": []})
        )


def test_a_sentence_that_says_more_than_its_numbers_is_refused():
    members = hostile.unzip(to_bytes(release()))
    document = json.loads(members["release.json"])
    document["guarantee"]["sentence"] = document["guarantee"]["sentence"].replace(
        "ε = 1", "ε = 0.1"
    )
    with pytest.raises(ReleaseError, match="what the numbers beside it say"):
        from_bytes(hostile.with_document(members, document))


def test_a_promise_below_what_was_paid_is_refused():
    members = hostile.unzip(to_bytes(release()))
    document = json.loads(members["release.json"])
    document["guarantee"]["amount"] = "1/1000"
    with pytest.raises(ReleaseError, match="cost more than the guarantee says"):
        from_bytes(hostile.with_document(members, document))


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(ReleaseError, match="no such file"):
        load_release("nowhere.understudy")


def crowd(tmp_path) -> list[tuple[str, bytes]]:
    """More than five hundred hostile files, the same ones every time."""
    rng = random.Random(20250301)
    sentinel = str(tmp_path / "executed")
    bases = [to_bytes(release(schema, model)) for schema, model in VARIANTS[:4]]
    small = bases[0]
    found = [
        *hostile.texts(small),
        *hostile.arrays(small, sentinel),
        *hostile.archives(small, sentinel),
    ]
    for base in bases:
        found += hostile.flips(base, 30, rng)
        found += hostile.cuts(base, 15, rng)
        found += hostile.documents(base, 80, rng)
    return found


def test_hostile_files_are_refused_and_nothing_in_them_runs(tmp_path):
    files = crowd(tmp_path)
    assert len(files) > 550
    originals = {to_bytes(release(schema, model)) for schema, model in VARIANTS}
    from_bytes(next(iter(originals)))  # whatever is imported late is imported now,
    for zone in ("Nowhere", "Europe/Nowhere"):  # the table of time zones among it
        with contextlib.suppress(KeyError):
            ZoneInfo(zone)
    refused, harmless, changed, messages = 0, 0, 0, {}
    for told, data in files:
        found, message = attempt(data)
        if found is None:
            refused, messages[told] = refused + 1, message
            continue
        again = to_bytes(found)
        assert to_bytes(from_bytes(again)) == again, told
        assert repr(found), told
        with contextlib.suppress(UnderstudyError):
            found.sample(3, seed=0, kind="numpy")
        harmless += again in originals
        changed += again not in originals
    assert WATCH.seen == []
    assert not (tmp_path / "executed").exists()
    assert [m for m in messages.values() if "\n" in m or len(m) > 1000] == []
    assert [
        t for t, m in messages.items() if "is damaged (" in m
    ] == []  # every refusal was foreseen; the last net held nothing
    # What loads is either the release that was written, or a document whose free texts
    # were changed and that is sound in itself.
    assert refused > 450
    assert changed < 60
    assert harmless > 10


def test_every_byte_of_the_archives_directory_may_be_wrong():
    """Also those that a random flip hits seldom: the last net, for what nobody foresaw,
    holds nothing.
    """
    data = to_bytes(release(*VARIANTS[0]))
    for at in range(data.index(b"PK\x01\x02"), len(data)):
        for bit in (0, 7):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            _, message = attempt(bytes(changed))
            assert "is damaged (" not in message, (at, bit)


def attempt(data: bytes) -> tuple[Release | None, str]:
    """Load under watch; anything but a release or a ReleaseError fails the test."""
    WATCH.on = True
    try:
        return from_bytes(data), ""
    except ReleaseError as error:
        return None, str(error)
    finally:
        WATCH.on = False


def test_the_watch_would_notice(tmp_path):
    """An alarm that never rings proves nothing."""
    import pickle

    heard = len(WATCH.seen)
    WATCH.on = True
    try:
        pickle.loads(pickle.dumps(hostile.Grenade(str(tmp_path / "boom"))))
    finally:
        WATCH.on = False
    assert (tmp_path / "boom").exists()
    assert len(WATCH.seen) > heard
    del WATCH.seen[heard:]


def test_a_bomb_takes_no_memory(tmp_path):
    bombs = [
        (told, data)
        for told, data in hostile.archives(to_bytes(release()), "x")
        if "bomb" in told or "thousands" in told
    ]
    assert len(bombs) == 4
    for told, data in bombs:
        tracemalloc.start()
        with pytest.raises(ReleaseError):
            from_bytes(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16_000_000, (told, peak)


def test_the_loader_still_takes_what_the_reader_of_the_format_would_write():
    """Without this, a loader that refused everything would pass every test above."""
    data = to_bytes(release())
    assert to_bytes(from_bytes(hostile.rezip(hostile.unzip(data)))) == data


def test_a_run_keeps_only_as_many_estimates_as_a_file_holds(monkeypatch):
    monkeypatch.setattr(measurement, "MAX_ESTIMATE_DISTANCES", 2)
    cost = Cost(Accounting.GDP, Fraction(1))
    far = {
        (str(i),): Distance((str(i),), 5, 1, Law.ROUNDED_GAUSSIAN, Fraction(2), cost)
        for i in range(4)
    }
    assert (
        len(
            measurement.distances_with_estimates(
                far, {clique: np.ones(3) for clique in far}
            )
        )
        == 2
    )
