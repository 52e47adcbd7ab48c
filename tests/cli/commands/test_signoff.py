"""The sheet on which a release is signed off, from the command line."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from kit.cli import Shell, spent
from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger
from understudy.reports.column_shares import ColumnShares
from understudy.reports.report import Report
from understudy.version import PACKAGE_VERSION


def test_a_sheet_names_files_account_and_use(
    shell: Shell, release: Path, tmp_path: Path
) -> None:
    before = spent(tmp_path / "people.csv.ledger")
    done = shell(
        *("signoff", release, "first.csv", "--ledger", "people.csv.ledger"),
        *("--analyst", "Ada", "--purpose", "teaching", "--until", "2099-12-31"),
        *("-o", "sheet.html"),
    )
    assert done.code == 0, done.err
    digest = sha256((tmp_path / "first.csv").read_bytes()).hexdigest()
    assert f"{digest}  first.csv" in done.out
    assert "spent: ε = 1.00, δ = 1e-9" in done.out
    page = (tmp_path / "sheet.html").read_text()
    assert digest in page
    assert "Private with ε = 1, δ = 1e-9" in page
    twin = json.loads((tmp_path / "sheet.json").read_text())
    assert [file["name"] for file in twin["files"]] == ["r.understudy", "first.csv"]
    assert (twin["analyst"], twin["purpose"]) == ("Ada", "teaching")
    assert twin["software"] == f"understudy-dp {PACKAGE_VERSION}"
    assert f"Understudy {PACKAGE_VERSION}." in page
    assert f"by {twin['run']['synthesizer']}" in page
    assert twin["until"] == "2099-12-31"
    assert spent(tmp_path / "people.csv.ledger") == before, "nothing is spent"


def test_a_report_with_real_rows_is_not_handed_out(
    shell: Shell, release: Path, tmp_path: Path
) -> None:
    shares = np.array([0.5, 0.5])
    sex = ColumnShares(name="sex", labels=("F", "M"), synthetic=shares, real=shares)
    Report(title="people", columns=(sex,)).save(tmp_path / "report.html")
    for name in ("report.html", "report.json"):
        done = shell("signoff", release, name, "-o", "sheet.html")
        assert done.code == 1
        assert "must not be handed out" in done.err
    assert not (tmp_path / "sheet.html").exists()


def test_nothing_else_that_real_rows_are_in_is_handed_out(
    shell: Shell, release: Path, people: Path, tmp_path: Path
) -> None:
    words = ("mask", people, "--schema", "people.yaml", "--replace", "sex")
    files = ("--picture", "tuning.svg", "--risk-list", "risks.csv", "-o", "masked")
    tune = ("--copies", 2, "--tune", "--risk-target", 0.99)
    assert shell(*words, *tune, *files).code == 0
    assert shell("analyst", "add", "people.csv.ledger", "a", "--epsilon", 1).code == 0
    private = [
        *("people.csv", "people.csv.ledger", "people.csv.ledger.tokens"),
        *("risks.csv", "tuning.svg", "masked/copies.json", "masked/copy-01.csv"),
    ]
    for name in private:
        done = shell("signoff", release, name, "-o", "sheet.html")
        assert (done.code, "must not be handed out" in done.err) == (1, True), name
    assert not (tmp_path / "sheet.html").exists()


def test_the_account_is_that_of_the_release(
    shell: Shell, release: Path, tmp_path: Path
) -> None:
    Ledger.create(tmp_path / "other", dataset="other", cap=Budget.of(1)).close()
    done = shell("signoff", release, "--ledger", "other", "-o", "sheet.html")
    assert done.code == 1
    assert "was not charged to this account" in done.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--until", "soon"], 1, "a date such as 2030-12-31"),
        (["--until", "2001-01-01"], 1, "lies before the release"),
        (["missing.csv"], 1, "there is no such file"),
        (["-o", "sheet.pdf"], 2, "an .html file"),
        (["--approver", "x"] * 7, 1, "lines for 5 signatures"),
    ],
)
def test_what_cannot_be_signed_is_refused(
    shell: Shell, release: Path, words: list[str], code: int, said: str
) -> None:
    done = shell("signoff", release, *words)
    assert done.code == code
    assert said in done.err


def test_analyst_and_purpose_of_a_run_are_kept(shell: Shell, people: Path) -> None:
    done = shell(
        *("synthesize", people, "--epsilon", 1, "--synthesizer", "independent"),
        *("--analyst", "Ada", "--purpose", "a course on surveys"),
        *("-o", "out.csv", "--release", "out.understudy"),
    )
    assert done.code == 0, done.err
    ledger = f"{people}.ledger"
    assert (
        "independent for Ada: a course on surveys"
        in shell("ledger", "show", ledger).out
    )
    # The count of the rows, and the run itself.
    count, run = shell("ledger", "show", ledger, "--json").json["runs"]
    assert count["run"] == run["run"] + "-rows"
    for entry in (count, run):
        assert (entry["analyst"], entry["purpose"]) == ("Ada", "a course on surveys")
    sheet = shell("signoff", "out.understudy", "--ledger", ledger, "--json").json
    assert (sheet["analyst"], sheet["purpose"]) == ("Ada", "a course on surveys")
