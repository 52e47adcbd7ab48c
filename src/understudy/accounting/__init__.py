"""Budgets, privacy costs, sensitivities, and the ledger that remembers what was spent.

neighbours, law, cost     who is a neighbour, which noise, what a cost is
budget                    (ε, δ) as exact numbers, and how to divide them
conversion, group         between (ε, δ), pure ε, μ² and ρ; for one unit or several
sensitivity               how far one unit moves an answer
pricing, expected_error   what noise costs, and what error to expect for a cost
filter                    admit or refuse inside a run; composition
advice, interpretation    plain words about a budget, and what it means for a person
ledger, ledgercap, run    the durable account of a dataset, its cap, and one run on it
aftermath, spending       what a failed run leaves spent; totals in words
chain, verify             sealed entries, and the check that they add up
backup                    copies that cannot be spent from
ledger_files/             the file under a ledger, made whole or not at all; its tables
filters/                  Rényi privacy over several orders; (ε, δ) mechanisms
questions/                one long run for questions, limits of analysts, scopes
"""

from understudy.accounting.advice import advise_on_budget
from understudy.accounting.budget import (
    DEFAULT_DELTA,
    Budget,
    split_by_weights,
    split_evenly,
)
from understudy.accounting.chain import LedgerEntry, digest_of
from understudy.accounting.conversion import (
    epsilon_of,
    epsilon_of_gdp,
    epsilon_of_zcdp,
    mu_squared_for,
    rho_for,
    total_for,
)
from understudy.accounting.cost import Accounting, Cost, Sensitivity
from understudy.accounting.expected_error import ExpectedNoise, expected_noise
from understudy.accounting.filter import Filter, compose_parallel, compose_sequential
from understudy.accounting.filters.approximate_filter import ApproximateFilter
from understudy.accounting.filters.renyi import (
    RenyiCost,
    epsilon_of_renyi,
    renyi_of_choice,
    renyi_of_cost,
    renyi_of_gaussian,
    renyi_of_pure,
    renyi_of_zcdp,
)
from understudy.accounting.filters.renyi_filter import RenyiFilter
from understudy.accounting.group import group_budget, group_cost
from understudy.accounting.law import Law
from understudy.accounting.ledger import Ledger
from understudy.accounting.ledgercap import LedgerTotals
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import (
    choice_epsilon_for,
    default_law,
    price,
    price_choice,
    scale_for,
)
from understudy.accounting.questions.composition import composition_saving
from understudy.accounting.questions.partition import PartitionScope
from understudy.accounting.questions.question_run import (
    QuestionRun,
    StoredAnswer,
    open_questions,
)
from understudy.accounting.run import LedgerRun
from understudy.accounting.sensitivity import (
    histogram_sensitivity,
    marginal_sensitivity,
)

__all__ = [
    "DEFAULT_DELTA",
    "Accounting",
    "ApproximateFilter",
    "Budget",
    "Cost",
    "ExpectedNoise",
    "Filter",
    "Law",
    "Ledger",
    "LedgerEntry",
    "LedgerRun",
    "LedgerTotals",
    "Neighbours",
    "PartitionScope",
    "QuestionRun",
    "RenyiCost",
    "RenyiFilter",
    "Sensitivity",
    "StoredAnswer",
    "advise_on_budget",
    "choice_epsilon_for",
    "compose_parallel",
    "compose_sequential",
    "composition_saving",
    "default_law",
    "digest_of",
    "epsilon_of",
    "epsilon_of_gdp",
    "epsilon_of_renyi",
    "epsilon_of_zcdp",
    "expected_noise",
    "group_budget",
    "group_cost",
    "histogram_sensitivity",
    "marginal_sensitivity",
    "mu_squared_for",
    "open_questions",
    "price",
    "price_choice",
    "renyi_of_choice",
    "renyi_of_cost",
    "renyi_of_gaussian",
    "renyi_of_pure",
    "renyi_of_zcdp",
    "rho_for",
    "scale_for",
    "split_by_weights",
    "split_evenly",
    "total_for",
]
