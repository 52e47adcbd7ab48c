"""One table has one account, whatever it is called; what cannot be recognised is said."""

import pytest

from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.notices import NoticeKind
from understudy.releases.release import load_release
from understudy.schema import Boolean, Schema
from understudy.tables.sources.open_table import open_table
from understudy.workflow.account import announce_account, open_ledger
from understudy.workflow.run_options import RunOptions
from understudy.workflow.synthesize import synthesize

SCHEMA = Schema(columns=(Boolean(name="smoker"),))


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("smoker\n" + "yes\n" * 30 + "no\n" * 70)
    return path


def account_of(path, ledger=None):
    """The ledger that a run on this file would be charged to."""
    with open_table(path) as source:
        book = open_ledger(
            ledger,
            source,
            dataset=None,
            neighbours=Neighbours.ADD_REMOVE,
            schema=SCHEMA,
        )
        book.close()
        return book.path


def news_of(path):
    with open_table(path) as source:
        return announce_account(source)


def test_a_symbolic_link_has_the_account_of_its_file(tmp_path, people):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.csv"
    link.symlink_to(people)
    again = tmp_path / "again.csv"
    again.symlink_to(link)
    assert (
        account_of(link)
        == account_of(again)
        == account_of(people)
        == tmp_path / "people.csv.ledger"
    )


def test_a_link_that_had_an_account_under_its_own_name_is_refused(tmp_path, people):
    """Earlier versions made one; it counts what was spent under the link."""
    link = tmp_path / "link.csv"
    link.symlink_to(people)
    own = tmp_path / "link.csv.ledger"
    Ledger.create(own, dataset="link.csv").close()
    for other in (False, True):
        if other:
            Ledger.create(tmp_path / "people.csv.ledger", dataset="people.csv").close()
        with pytest.raises(
            Refused, match=r"link\.csv is a link to people\.csv, .*Nothing was spent\."
        ):
            account_of(link)
    assert account_of(link, own) == own


def test_a_renamed_table_gets_no_second_account_in_silence(tmp_path, people):
    account_of(people)
    renamed = people.rename(tmp_path / "renamed.csv")
    with pytest.raises(
        Refused,
        match=r"people\.csv\.ledger is the account of people\.csv, .*Nothing was spent\.",
    ):
        account_of(renamed)
    assert not (tmp_path / "renamed.csv.ledger").exists()
    assert (
        account_of(renamed, tmp_path / "people.csv.ledger")
        == tmp_path / "people.csv.ledger"
    )
    Ledger.create(tmp_path / "renamed.csv.ledger", dataset="another table").close()
    assert account_of(renamed) == tmp_path / "renamed.csv.ledger"


def test_another_table_with_its_account_is_no_obstacle(tmp_path, people):
    account_of(people)
    (tmp_path / "mine.ledger").touch()
    (tmp_path / "others.csv").write_text(people.read_text())
    assert account_of(tmp_path / "others.csv") == tmp_path / "others.csv.ledger"


def test_a_hard_link_to_a_table_that_has_an_account_is_refused(tmp_path, people):
    account_of(people)
    (tmp_path / "linked.csv").hardlink_to(people)
    with pytest.raises(
        Refused, match=r"linked\.csv and people\.csv are one file .*Nothing was spent\."
    ):
        account_of(tmp_path / "linked.csv")
    assert account_of(people) == tmp_path / "people.csv.ledger"


def test_a_new_account_is_announced_once(tmp_path, people):
    news = news_of(people)
    assert news.kind is NoticeKind.NEW_ACCOUNT
    assert news.text.startswith(
        "A new account, without a cap, is made for people.csv: "
    )
    assert news.text.endswith(
        "If these rows have an account already, name it (--ledger)."
    )
    (tmp_path / "linked.csv").hardlink_to(people)
    assert "people.csv has 2 names (hard links)" in news_of(people).text
    account_of(people)
    assert news_of(people) is None


def test_a_run_tells_its_new_account_and_the_release_does_not(people):
    posted = []
    release = synthesize(
        people,
        SCHEMA,
        epsilon=1,
        synthesizer="independent",
        run=RunOptions(notify=posted.append),
    )
    assert [notice.kind for notice in posted] == [NoticeKind.NEW_ACCOUNT]
    assert posted[0].text in release.notes
    assert "account," not in repr(release)
    release.save(people.with_name("people.understudy"))
    again = load_release(people.with_name("people.understudy"))
    assert not [note for note in again.notes if "account" in note]
