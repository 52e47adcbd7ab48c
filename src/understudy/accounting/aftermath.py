"""After a failure: what a run that was cut off leaves on its account, in one sentence
for the library, the command line and the studio.

From the reservation on, "Nothing was spent" is false. `account_for_failure` looks into
the ledger itself, so that what is said is what the account says, whatever failed and
whatever the error believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from understudy.accounting.budget import spell_value
from understudy.accounting.chain import LedgerEntry
from understudy.accounting.ledger import Ledger
from understudy.accounting.questions.question_run import QUESTIONS_EVENT
from understudy.accounting.reservation import row_count_run
from understudy.errors import UnderstudyError

UNANSWERED_RUN_EXPLANATION = (
    "cut off between paying and answering, and what was paid for that is lost: start a"
    " new run"
)
"""What became of a run that cannot be taken up: it has no budget to ask again."""

CENSUS_EVENT = "census"
"""The event of a run that goes on without an answer that was lost: its other answers
make all tables.
"""

NOTHING_SPENT = "Nothing was spent"
"""How an error ends that was raised before a run reserved anything."""


class SpentNote(str):
    """A note of an exception that says what stays spent; told apart from notes of
    others, which may quote a cell.
    """

    __slots__ = ()


def find_unanswered(chain: Sequence[LedgerEntry]) -> set[str]:
    """The runs that paid for an answer which was never stored, and cannot do without."""
    charged = Counter(
        (entry.run, entry.step)
        for entry in chain
        if entry.kind == "charge" and entry.event != CENSUS_EVENT
    )
    # Paid for twice and answered once: what is left is short of the first payment.
    answered = Counter(
        (entry.run, entry.step) for entry in chain if entry.kind == "answer"
    )
    return {run for run, _ in charged - answered}


def describe_spending(path: Path, run: str) -> str:
    """What is and is not spent after a run was cut off, and how to take it up.

    >>> describe_spending(Path("no-such.ledger"), "a1")
    'Nothing was spent.'
    """
    return describe_reserved(path, run) or f"{NOTHING_SPENT}."


def describe_reserved(path: Path, run: str) -> str | None:
    """What stays spent of a run, and how to take it up; None where it reserved nothing."""
    if not run or not path.exists():
        return None
    try:
        with Ledger.open(path) as account:
            names = (run, row_count_run(run))
            entries = [entry for entry in account.entries() if entry.run in names]
    except Exception:
        # A failing ledger may be what cut the run off.
        return (
            f"What run {run} reserved, if it did, stays spent: {path} could not be"
            " read. See `understudy ledger show`."
        )
    reserved = [entry for entry in entries if entry.kind == "reserve"]
    if not reserved:
        return None
    stays = (
        f"What run {run} reserved ({_spell_reserved(reserved)}) stays spent in {path}"
    )
    if reserved[0].event == QUESTIONS_EVENT:
        return f"{stays}; it stays open for questions."
    if run in find_unanswered(entries):
        return f"{stays}. It was {UNANSWERED_RUN_EXPLANATION}."
    return (
        f"{stays}; --resume {run} takes it up at no new cost (in Python:"
        f" resume={run!r})."
    )


def _spell_reserved(reserved: Sequence[LedgerEntry]) -> str:
    """The (ε, δ) of the reservations of a run: the rows may have been counted first, by
    one apart.
    """
    epsilon = sum((entry.cost[0] for entry in reserved), Fraction(0))
    delta = sum((entry.cost[1] for entry in reserved), Fraction(0))
    return f"ε = {spell_value(epsilon)}, δ = {spell_value(delta)}"


@contextmanager
def account_for_failure(path: Path, run: str) -> Iterator[None]:
    """Whatever fails in this block says what stays spent of a run, if the account knows
    it: our own errors in their text, others in a note.

    An error that says so already is left as it is, and so is one of a run that never
    reserved anything.
    """
    try:
        yield
    except UnderstudyError as error:
        reserved = describe_reserved(path, run)
        if error.run is None and reserved is not None:
            error.replace_outcome(reserved, run=run)
        raise
    except BaseException as error:
        reserved = describe_reserved(path, run)
        if not find_spent_note(error) and reserved is not None:
            error.add_note(SpentNote(reserved))
        raise


def find_spent_note(error: BaseException) -> str:
    """What `account_for_failure` noted on an unforeseen error; an empty text where it
    noted nothing.

    >>> find_spent_note(ValueError())
    ''
    """
    notes = getattr(error, "__notes__", ())
    return next((str(note) for note in notes if isinstance(note, SpentNote)), "")
