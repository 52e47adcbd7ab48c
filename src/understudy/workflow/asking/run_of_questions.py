"""The run on a ledger that questions are charged to: opened once, with the budget of all
of them, and taken up by every later session.
"""

from __future__ import annotations

from fractions import Fraction

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.question_run import QuestionRun, open_questions
from understudy.curator.key_search import KEY_DELTA_SHARE, people_needed
from understudy.errors import LedgerError, Refused
from understudy.releases.release import Release
from understudy.workflow.asking.keys import KEY_PARTS


def set_key_delta_aside(budget: Budget, has_keys: bool) -> Fraction:
    """The part of δ that a run keeps for the thresholds of private keys: half of it."""
    return budget.delta / 2 if has_keys else Fraction(0)


def choose_key_accounting(
    budget: Budget, max_rows: int, neighbours: Neighbours
) -> Accounting:
    """The accounting in which one question by private keys, which takes the whole budget
    of a run, shows labels of the fewest people: Laplace noise for few labels a person,
    Gaussian noise for many.

    >>> one = Budget.of(1)
    >>> [str(choose_key_accounting(one, m, Neighbours.ADD_REMOVE)) for m in (1, 2, 5)]
    ['pure', 'gdp', 'gdp']
    """
    aside = set_key_delta_aside(budget, has_keys=True)
    needed = {}
    for accounting in (Accounting.PURE, Accounting.GDP):
        whole = Filter.of(budget, accounting=accounting, threshold_delta=aside)
        needed[accounting] = people_needed(
            accounting,
            whole.total / KEY_PARTS,
            delta=whole.delta * KEY_DELTA_SHARE,
            epsilon=budget.epsilon,
            max_rows=max_rows,
            neighbours=neighbours,
        )
    return min(needed, key=lambda accounting: needed[accounting])


def open_question_run(
    account: Ledger,
    budget: Budget | None,
    name: str,
    facts: dict[str, str] | None,
    *,
    accounting: Accounting | None = None,
    private_keys: bool = False,
) -> QuestionRun:
    """The run of this name, opened with a budget if there is none, for the table that
    `facts` describe.
    """
    delta = Fraction(0)
    if budget is not None:
        delta = set_key_delta_aside(budget, private_keys)
    try:
        run = open_questions(
            account,
            budget,
            name=name,
            table=facts,
            accounting=accounting,
            threshold_delta=delta,
        )
    except LedgerError as error:
        if budget is not None:
            raise
        raise no_run_error(account.path.name) from error
    if facts is not None and run.table not in (None, facts):
        raise Refused(
            f"The run {name!r} of {account.path.name} is for another table. Name another"
            " run, or another ledger. Nothing was spent"
        )
    return run


def no_run_error(name: str) -> Refused:
    """The refusal where a ledger has no run of questions yet."""
    return Refused(
        f"No run of questions is open on {name}. Open one with the ε of all questions"
        " together: budget=1, or --budget 1. Nothing was spent"
    )


def refuse_foreign_release(release: Release | None, ledger: Ledger) -> None:
    """Refuse a release of another table: its numbers would be given, and pooled with
    what is measured, as if they were about these rows.
    """
    if release is None or not release.statement.dataset:
        return
    made = release.statement
    is_here = any(run.id == made.run for run in ledger.runs())
    if not is_here and made.dataset != ledger.dataset:
        raise Refused(
            f"The release is of {made.dataset!r}, and {ledger.path.name} is the account"
            f" of {ledger.dataset!r}. Leave the release out, or name the ledger that it"
            " was charged to. Nothing was spent"
        )
