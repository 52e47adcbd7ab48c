"""Several copies of one table, and the rule that combines what they say.

The rule is written down where the copies are made. An analyst who receives them never
chooses it: the wrong rule gives intervals that hold far too often or far too seldom.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from understudy.errors import Refused, ReleaseError
from understudy.inference.combining_rules import CombiningRule, CopyKind
from understudy.inference.copy_columns import read_typed_csv
from understudy.inference.libraries import import_pandas
from understudy.text import format_count

COPIES_MANIFEST_NAME = "copies.json"
"""The file beside the copies that says how they were made."""

COPIES_FORMAT = "understudy copies 1"
"""What a manifest calls itself; a later format has a later number."""

MAX_MANIFEST_BYTES = 1 << 24
"""A manifest is a few kilobytes; anything larger is none."""


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticCopies:
    """Copies of one table: how many, the rule that combines them, what was replaced.

    `load` gives a copy as a pandas frame by its number, one at a time, so that memory
    need not hold them all. `promise` says what protects the people in them.

    >>> import pandas as pd
    >>> frames = [pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"x": [1.5, 2.5]})]
    >>> rule = CombiningRule(kind=CopyKind.PARTIAL)
    >>> copies = SyntheticCopies.of_frames(frames, rule)
    >>> copies
    2 copies, combined by the rule for partial copies.
    >>> len(copies), [float(frame.x.mean()) for frame in copies]
    (2, [1.5, 2.0])
    """

    count: int
    rule: CombiningRule
    load: Callable[[int], Any]
    promise: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        count = format_count(self.count, "copy", "copies")
        said = f"{count}, combined by the rule for {self.rule.kind} copies."
        return f"{said} {self.promise}".rstrip()

    def __iter__(self) -> Iterator[Any]:
        return (self.load(i) for i in range(self.count))

    @classmethod
    def of_frames(
        cls, frames: Sequence[Any], rule: CombiningRule, *, promise: str = ""
    ) -> SyntheticCopies:
        """Copies that are frames already."""
        return cls(len(frames), rule, frames.__getitem__, promise)


def load_copies(folder: str | Path) -> SyntheticCopies:
    """The copies in a folder that `understudy mask` wrote. Files that were changed since
    are refused.

    >>> load_copies("no-such-folder")
    Traceback (most recent call last):
    understudy.errors.ReleaseError: no-such-folder: holds no copies.json...
    """
    place = Path(folder)
    document = _read_manifest(place)
    files = [place / str(entry["name"]) for entry in document["files"]]
    digests = [str(entry["sha256"]) for entry in document["files"]]
    # Manifests of before do not say what the columns hold.
    kinds = dict(document.get("columns", {}))

    def load(i: int) -> Any:
        return _read_copy(files[i], digests[i], kinds)

    return SyntheticCopies(
        count=len(files),
        rule=rule_from_dict(document["rule"]),
        load=load,
        promise=str(document.get("promise", "")),
        facts=document,
    )


@dataclass(frozen=True)
class CopyFiles:
    """The files of a folder of copies, and the rule that combines them."""

    files: tuple[Path, ...]
    rule: CombiningRule


def find_copy_files(table: object) -> CopyFiles | None:
    """The files of a folder of copies; None if it is no such folder."""
    if not isinstance(table, str | Path):
        return None
    if not (Path(table) / COPIES_MANIFEST_NAME).is_file():
        return None
    document = _read_manifest(Path(table))
    names = [str(entry["name"]) for entry in document["files"]]
    rule = rule_from_dict(document["rule"])
    return CopyFiles(tuple(Path(table) / name for name in names), rule)


def rule_to_dict(rule: CombiningRule) -> dict[str, object]:
    """A rule as a manifest holds it."""
    return {
        "kind": rule.kind.value,
        "proper": rule.proper,
        "rows_ratio": rule.rows_ratio,
        "nest": rule.nest,
    }


def rule_from_dict(document: Mapping[str, Any]) -> CombiningRule:
    """A rule out of a manifest."""
    return CombiningRule(
        kind=CopyKind(document["kind"]),
        proper=bool(document["proper"]),
        rows_ratio=float(document["rows_ratio"]),
        nest=int(document["nest"]),
    )


def digest_file(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        digest = sha256()
        # In blocks: a copy may be larger than memory.
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / COPIES_MANIFEST_NAME
    # The size first: a huge file must not be read only to be refused.
    if not path.is_file() or path.stat().st_size > MAX_MANIFEST_BYTES:
        raise ReleaseError(
            f"{folder}: holds no {COPIES_MANIFEST_NAME}. Give the folder that"
            " `understudy mask` wrote"
        )
    try:
        document = json.loads(path.read_text("utf-8"))
        if document["format"] != COPIES_FORMAT:
            raise ValueError
        rule_from_dict(document["rule"])
        dict(document.get("columns", {}))
        names = [entry["name"] for entry in document["files"]]
        is_plain = all(Path(name).name == name for name in names)
        # One copy named twice would pass for two that agree.
        if len(set(names)) < len(names):
            raise ValueError
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise ReleaseError(
            f"{path}: is no list of copies, or of a later version"
        ) from None
    # A name with a path in it would read a file elsewhere.
    if not names or not is_plain:
        raise ReleaseError(f"{path}: names files outside its folder, or none")
    found: dict[str, Any] = document
    return found


def _read_copy(path: Path, digest: str, kinds: Mapping[str, object]) -> Any:
    if not path.is_file() or digest_file(path) != digest:
        raise ReleaseError(
            f"{path}: is missing or was changed after it was written. Ask for the"
            " copies anew"
        )
    if path.suffix == ".parquet":
        return import_pandas().read_parquet(path)
    return read_typed_csv(path, kinds) if kinds else import_pandas().read_csv(path)


def refuse_unruled_copies(copies: object) -> SyntheticCopies:
    """Copies that say how they were made; a folder is loaded."""
    if isinstance(copies, str | Path):
        return load_copies(copies)
    if isinstance(copies, SyntheticCopies):
        return copies
    to_copies = getattr(copies, "to_copies", None)
    if callable(to_copies):
        found = to_copies()
        assert isinstance(found, SyntheticCopies)
        return found
    raise Refused(
        "analyse: give the folder of copies, or what `mask` returned. Frames alone do"
        " not say how they were made: fit each and use `combine` with its `kind`"
    )
