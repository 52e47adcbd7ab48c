"""Budgets, prices, sensitivities, and the ledger that remembers what was spent.

neighbours, law, cost      the words: who is a neighbour, which noise, what a price is
budget                     (ε, δ) as exact numbers, and how to divide them
conversion, group          between (ε, δ), pure ε, μ² and ρ; for one unit or several
sensitivity                how far one unit moves an answer
pricing, preview           what noise costs, how much a price buys, what error to expect
filter                     admit or refuse inside a run; sequential and parallel composition
advice                     plain words about a budget
ledger, run                the durable account of a dataset, and one run on it
ledgerfile, chain, audit   the file under it, its sealed entries, and the check that they add up
"""

from understudy.accounting.advice import advice
from understudy.accounting.budget import DEFAULT_DELTA, Budget, uniform, weighted
from understudy.accounting.chain import Entry, digest_of
from understudy.accounting.conversion import (
    epsilon_of,
    epsilon_of_gdp,
    epsilon_of_zcdp,
    mu_squared_for,
    rho_for,
    total_for,
)
from understudy.accounting.cost import Cost, Currency, Sensitivity
from understudy.accounting.expected_error import Expected, expected
from understudy.accounting.filter import Filter, parallel, sequential
from understudy.accounting.group import group_budget, group_cost
from understudy.accounting.law import Law
from understudy.accounting.ledger import Ledger, Totals
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import choice_epsilon_for, default_law, price, price_choice, scale_for
from understudy.accounting.run import Run
from understudy.accounting.sensitivity import marginal_sensitivity

__all__ = [
    "DEFAULT_DELTA",
    "Budget",
    "Cost",
    "Currency",
    "Entry",
    "Expected",
    "Filter",
    "Law",
    "Ledger",
    "Neighbours",
    "Run",
    "Sensitivity",
    "Totals",
    "advice",
    "choice_epsilon_for",
    "default_law",
    "digest_of",
    "epsilon_of",
    "epsilon_of_gdp",
    "epsilon_of_zcdp",
    "expected",
    "group_budget",
    "group_cost",
    "marginal_sensitivity",
    "mu_squared_for",
    "parallel",
    "price",
    "price_choice",
    "rho_for",
    "scale_for",
    "sequential",
    "total_for",
    "uniform",
    "weighted",
]
