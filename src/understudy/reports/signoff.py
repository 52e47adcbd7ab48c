"""The sign-off: one sheet of paper about a release, for the person who answers for it.

It says what is guaranteed, what was declared public (the values and bounds themselves),
what the account says, which files are handed out (by digest), to whom, what for and
until when, and leaves lines for signatures. The sheet is a summary that prints on one
page of A4; its JSON twin has every value. Nothing here reads a real row or spends
anything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path

from understudy.accounting.budget import spell_value
from understudy.accounting.ledger import Ledger
from understudy.atomic import write_file_atomically
from understudy.errors import Refused
from understudy.findings import Fact
from understudy.releases import Release
from understudy.releases.release import load_release
from understudy.reports.handed_file import HandedFile
from understudy.reports.page_template import load_page_template, read_asset
from understudy.schema.declared_domain import DeclaredDomain, list_declared_domains
from understudy.svg import Markup, shorten_text
from understudy.text import format_count
from understudy.version import DISTRIBUTION_NAME, PACKAGE_VERSION

SIGN_OFF_FORMAT, SIGN_OFF_FORMAT_VERSION = "understudy sign-off", 1

DEFAULT_APPROVERS = ("Data owner", "Privacy officer", "Recipient")
"""Who signs, unless others are named."""

MAX_SHEET_DOMAINS, MAX_SHEET_FILES, MAX_APPROVERS = 19, 6, 5
"""Columns, files and signatures that one page of A4 has room for."""

MAX_SHEET_LETTERS, MAX_NAME_LETTERS = 420, 60
"""Letters of a text and of a name on the sheet; the style clamps them to a few lines,
and the twin has all of them.
"""

MAX_SHEET_DETAILS = 4
"""Lines of what the guarantee's sentence leaves out."""


@dataclass(frozen=True, kw_only=True)
class SignOffAccount:
    """The account of the dataset when the sheet was made: spent, cap and last digest."""

    dataset: str
    spent: tuple[Fraction, Fraction]
    cap: tuple[Fraction, Fraction] | None
    head: str

    @classmethod
    def of(cls, ledger: Ledger) -> SignOffAccount:
        """The account as a ledger has it now."""
        totals, cap = ledger.totals(), ledger.cap
        return cls(
            dataset=ledger.dataset,
            spent=(totals.epsilon, totals.delta),
            cap=None if cap is None else (cap.epsilon, cap.delta),
            head=ledger.head,
        )

    @property
    def remaining_budget(self) -> tuple[Fraction, Fraction] | None:
        """What may still be spent; None without a cap."""
        if self.cap is None:
            return None
        return self.cap[0] - self.spent[0], self.cap[1] - self.spent[1]

    def lines(self) -> list[tuple[str, str]]:
        """Spent, allowed in all, and left, each with its (ε, δ)."""
        if self.cap is None or self.remaining_budget is None:
            return [("spent", _spell_pair(self.spent)), ("allowed", "no cap")]
        return [
            ("spent", _spell_pair(self.spent)),
            ("allowed", _spell_pair(self.cap)),
            ("left", _spell_pair(self.remaining_budget)),
        ]

    def to_dict(self) -> dict[str, Fact]:
        """For a program; numbers as texts, because they are exact."""
        return {
            "dataset": self.dataset,
            "spent": _pair_facts(self.spent),
            "cap": None if self.cap is None else _pair_facts(self.cap),
            "left": None
            if self.remaining_budget is None
            else _pair_facts(self.remaining_budget),
            "last_digest": self.head,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class SignOff:
    """Everything the sheet says. Made by `sign_off`.

    >>> from understudy.models import ProductModel
    >>> from understudy.releases import Guarantee
    >>> from understudy.schema import Boolean, Schema
    >>> schema = Schema(columns=(Boolean(name="smoker"),))
    >>> model = ProductModel.uniform(schema, total=4.0)
    >>> release = Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
    >>> SignOff(release=release).approvers
    ('Data owner', 'Privacy officer', 'Recipient')
    """

    release: Release
    files: tuple[HandedFile, ...] = ()
    account: SignOffAccount | None = None
    analyst: str = ""
    purpose: str = ""
    until: date | None = None
    approvers: tuple[str, ...] = DEFAULT_APPROVERS
    domains: tuple[DeclaredDomain, ...] = field(init=False)

    def __post_init__(self) -> None:
        if len(self.approvers) > MAX_APPROVERS:
            raise Refused(
                f"One page has lines for {MAX_APPROVERS} signatures. Name fewer."
                " Nothing was written."
            )
        day = self.release.statement.day
        if self.until is not None and day is not None and self.until < day:
            raise Refused(
                f"The last day ({self.until}) lies before the release ({day}). Nothing"
                " was written."
            )
        # Columns that were left out of the release say nothing about what is handed
        # over.
        listed = list_declared_domains(self.release.schema)
        released = tuple(d for d in listed if d.name in self.release.schema)
        object.__setattr__(self, "domains", released)

    def to_html(self) -> str:
        """The sheet: prints on one page of A4, loads nothing and runs no script."""
        promise, statement = self.release.guarantee, self.release.statement
        public = "; ".join(promise.public)
        return load_page_template("signoff.html").render(
            style=Markup(read_asset("signoff.css")),
            dataset=shorten_text(self.dataset, MAX_NAME_LETTERS),
            statement=statement,
            synthesizer=self.release.synthesizer,
            sentence=shorten_text(promise.sentence(), MAX_SHEET_LETTERS),
            details=self._private_details(),
            meaning=() if promise.meaning is None else promise.meaning.lines(),
            domains=self.domains[:MAX_SHEET_DOMAINS],
            more_domains=max(0, len(self.domains) - MAX_SHEET_DOMAINS),
            public=shorten_text(public, MAX_SHEET_LETTERS),
            account=self.account,
            files=self.files[:MAX_SHEET_FILES],
            more_files=max(0, len(self.files) - MAX_SHEET_FILES),
            analyst=shorten_text(self.analyst, MAX_NAME_LETTERS),
            purpose=shorten_text(self.purpose, MAX_SHEET_LETTERS),
            until=self.until,
            approvers=[shorten_text(name, MAX_NAME_LETTERS) for name in self.approvers],
            version=PACKAGE_VERSION,
            count=format_count,
        )

    @property
    def dataset(self) -> str:
        """What the owner calls the table."""
        return self.release.statement.dataset or "unnamed table"

    def _private_details(self) -> list[str]:
        """Whom the guarantee protects, and what it does not; what is public and what was
        learned stands in the table of columns.
        """
        promise = self.release.guarantee
        listed = len(promise.public) + len(promise.learned)
        lines = promise.details()
        # The guarantee lists what is public and learned last, one line each.
        shown = lines[: len(lines) - listed][:MAX_SHEET_DETAILS]
        return [shorten_text(line, MAX_SHEET_LETTERS) for line in shown]

    def to_dict(self) -> dict[str, Fact]:
        """The twin: all of it for a program."""
        promise, statement = self.release.guarantee, self.release.statement
        meaning = promise.meaning
        return {
            "format": SIGN_OFF_FORMAT,
            "version": SIGN_OFF_FORMAT_VERSION,
            "dataset": self.dataset,
            "guarantee": {
                "sentence": promise.sentence(),
                "details": list(promise.details()),
                "epsilon": str(promise.epsilon),
                "delta": str(promise.delta),
                "neighbours": str(promise.neighbours),
                "unit": promise.unit,
                "max_rows": promise.max_rows,
            },
            "meaning": [] if meaning is None else list(meaning.lines()),
            "columns": [_domain_facts(domain) for domain in self.domains],
            "public": list(promise.public),
            "learned": list(promise.learned),
            "not_protected": list(promise.invariants),
            "run": {
                "id": statement.run,
                "day": None if statement.day is None else statement.day.isoformat(),
                "epsilon": str(statement.epsilon),
                "delta": str(statement.delta),
                "synthesizer": self.release.synthesizer,
            },
            "software": f"{DISTRIBUTION_NAME} {PACKAGE_VERSION}",
            "account": None if self.account is None else self.account.to_dict(),
            "files": [file.to_dict() for file in self.files],
            "analyst": self.analyst,
            "purpose": self.purpose,
            "until": None if self.until is None else self.until.isoformat(),
            "approvals": [
                {"role": name, "name": None, "date": None} for name in self.approvers
            ],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sheet (`.html`) and its twin beside it (`.json`); each appears whole
        or not at all.
        """
        where = Path(path)
        # Both are made before either is written: an error leaves no half of the pair.
        page = self.to_html()
        twin = json.dumps(self.to_dict(), ensure_ascii=False, indent=1)
        for target, text in ((where, page), (where.with_suffix(".json"), twin)):
            with write_file_atomically(target, private=False) as draft:
                draft.write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        """In a notebook: a frame of its own, so that neither page touches the other."""
        # The ampersand first, or those of the quotation marks would be escaped again.
        inside = self.to_html().replace("&", "&amp;").replace('"', "&quot;")
        return (
            '<iframe sandbox="" style="width:100%;height:50rem;border:0"'
            f' srcdoc="{inside}"></iframe>'
        )


def sign_off(
    release: Release | str | Path,
    files: Sequence[str | Path] = (),
    *,
    ledger: str | Path | None = None,
    analyst: str = "",
    purpose: str = "",
    until: date | str | None = None,
    approvers: Sequence[str] = DEFAULT_APPROVERS,
) -> SignOff:
    """The sheet on which a release is signed off: one page of A4, and JSON.

    `files` are those that are handed out; of a release file it lists the release too.
    With the `ledger` that was charged, the sheet says what is spent and left, and takes
    analyst and purpose from there if they are not given. It reads no real row, and
    refuses files that hold numbers computed from real rows without noise.

    >>> from understudy.models import ProductModel
    >>> from understudy.releases import Guarantee
    >>> from understudy.schema import Categorical, Schema
    >>> schema = Schema(columns=(Categorical(name="sex", values=("F", "M")),))
    >>> model = ProductModel.uniform(schema, total=4.0)
    >>> release = Release(guarantee=Guarantee.without_data(), schema=schema, model=model)
    >>> sheet = sign_off(release, purpose="teaching", until="2030-12-31")
    >>> sheet.to_dict()["columns"][0]["values"]
    ['F', 'M']
    """
    handed = [HandedFile.of(path) for path in files]
    if isinstance(release, str | Path):
        # First, because everything else comes from it.
        handed.insert(0, HandedFile.of(release))
        release = load_release(release)
    account = None
    if ledger is not None:
        account, run_analyst, run_purpose = _read_account(Path(ledger), release)
        analyst, purpose = analyst or run_analyst, purpose or run_purpose
    return SignOff(
        release=release,
        files=tuple(handed),
        account=account,
        analyst=analyst,
        purpose=purpose,
        until=_parse_day(until),
        approvers=tuple(approvers) or DEFAULT_APPROVERS,
    )


def _read_account(path: Path, release: Release) -> tuple[SignOffAccount, str, str]:
    """The account that a release was charged to, with the analyst and the purpose that
    its run names.
    """
    with Ledger.open(path) as ledger:
        # From one open ledger, which checked its chain of digests when it was opened.
        account, entries = SignOffAccount.of(ledger), ledger.entries()
    for entry in entries:
        # Only the reservation names them; charges of the same run repeat its number.
        if entry.kind == "reserve" and entry.run == release.statement.run:
            return account, entry.analyst, str(entry.facts.get("purpose", ""))
    raise Refused(
        f"{path}: this release was not charged to this account. Name the ledger of its"
        " table. Nothing was written."
    )


def _parse_day(day: date | str | None) -> date | None:
    """The day as a date."""
    if not isinstance(day, str):
        return day
    try:
        return date.fromisoformat(day)
    except ValueError:
        raise Refused(
            "The last day is a date such as 2030-12-31. Nothing was written."
        ) from None


def _domain_facts(domain: DeclaredDomain) -> dict[str, Fact]:
    return {
        "name": domain.name,
        "type": domain.type,
        "values": list(domain.values),
        "min": domain.low,
        "max": domain.high,
        "source": domain.source,
    }


def _spell_pair(pair: tuple[Fraction, Fraction]) -> str:
    return f"ε = {spell_value(pair[0])}, δ = {spell_value(pair[1])}"


def _pair_facts(pair: tuple[Fraction, Fraction]) -> dict[str, Fact]:
    return {"epsilon": str(pair[0]), "delta": str(pair[1])}
