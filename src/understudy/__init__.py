"""Release sensitive tables safely: differentially private synthetic tables, and the
proof that goes with them.

>>> import understudy as us
>>> schema = us.Schema(columns=(us.Integer(name="age", min=18, max=90), us.Boolean(name="smoker")))
>>> us.plan(schema, epsilon=1).synthesizer
'adaptive'

Names are loaded when they are first used, so that importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from understudy.version import PACKAGE_VERSION

if TYPE_CHECKING:
    from understudy import errors as errors
    from understudy import local as local
    from understudy import synthesizers as synthesizers
    from understudy.accounting.budget import Budget as Budget
    from understudy.accounting.cost import Accounting as Accounting
    from understudy.accounting.ledger import Ledger as Ledger
    from understudy.accounting.neighbours import Neighbours as Neighbours
    from understudy.censuses.release import CensusRelease as CensusRelease
    from understudy.databases.database_table import DatabaseTable as DatabaseTable
    from understudy.errors import UnderstudyError as UnderstudyError
    from understudy.evaluation.risk.intruder import Intruder as Intruder
    from understudy.imputation.mask_grid import MaskGrid as MaskGrid
    from understudy.imputation.mask_strength import MaskStrength as MaskStrength
    from understudy.imputation.risk_targeted import RiskStrengths as RiskStrengths
    from understudy.inference.analysis import analyse as analyse
    from understudy.inference.analysis import combine as combine
    from understudy.inference.copies import SyntheticCopies as SyntheticCopies
    from understudy.inference.copies import load_copies as load_copies
    from understudy.notices import Notice as Notice
    from understudy.queries.builders import bins as bins
    from understudy.queries.builders import cases as cases
    from understudy.queries.builders import correlation as correlation
    from understudy.queries.builders import count as count
    from understudy.queries.builders import count_distinct as count_distinct
    from understudy.queries.builders import covariance as covariance
    from understudy.queries.builders import histogram as histogram
    from understudy.queries.builders import mean as mean
    from understudy.queries.builders import median as median
    from understudy.queries.builders import quantile as quantile
    from understudy.queries.builders import select as select
    from understudy.queries.builders import share as share
    from understudy.queries.builders import stddev as stddev
    from understudy.queries.builders import total as total
    from understudy.queries.builders import variance as variance
    from understudy.queries.lookups import PublicTable as PublicTable
    from understudy.queries.query import Query as Query
    from understudy.queries.results import AnswerTable as AnswerTable
    from understudy.releases.answers.reconcile import reconcile as reconcile
    from understudy.releases.guarantee import Guarantee as Guarantee
    from understudy.releases.release import Release as Release
    from understudy.releases.release import load_release as load_release
    from understudy.reports.evaluate import evaluate as evaluate
    from understudy.reports.report import Report as Report
    from understudy.reports.signoff import SignOff as SignOff
    from understudy.reports.signoff import sign_off as sign_off
    from understudy.schema.columns.base import Role as Role
    from understudy.schema.columns.discrete import Boolean as Boolean
    from understudy.schema.columns.discrete import Categorical as Categorical
    from understudy.schema.columns.discrete import Identifier as Identifier
    from understudy.schema.columns.discrete import Text as Text
    from understudy.schema.columns.numeric import Integer as Integer
    from understudy.schema.columns.numeric import Real as Real
    from understudy.schema.columns.temporal import Date as Date
    from understudy.schema.columns.temporal import Datetime as Datetime
    from understudy.schema.columns.temporal import Time as Time
    from understudy.schema.schema import Schema as Schema
    from understudy.schema.unit import Unit as Unit
    from understudy.server.client import connect as connect
    from understudy.workflow.asking.online import ask_online as ask_online
    from understudy.workflow.asking.prices import price as price
    from understudy.workflow.asking.questions import ask as ask
    from understudy.workflow.asking.questions import session as session
    from understudy.workflow.asking.simulated_table import try_question as try_question
    from understudy.workflow.auditing.audit import audit as audit
    from understudy.workflow.censuses.census import census as census
    from understudy.workflow.censuses.census_plan import plan_census as plan_census
    from understudy.workflow.censuses.census_reading import load_census as load_census
    from understudy.workflow.censuses.census_saving import save_census as save_census
    from understudy.workflow.compare import compare as compare
    from understudy.workflow.describe import describe as describe
    from understudy.workflow.masking.mask import mask as mask
    from understudy.workflow.masking.tune_mask import tune_mask as tune_mask
    from understudy.workflow.open import TableLike as TableLike
    from understudy.workflow.planning.plan import Plan as Plan
    from understudy.workflow.planning.plan import plan as plan
    from understudy.workflow.public_cliques import (
        select_public_cliques as select_public_cliques,
    )
    from understudy.workflow.run_options import RunOptions as RunOptions
    from understudy.workflow.synthesize import synthesize as synthesize
    from understudy.workflow.toolbox.cluster import cluster as cluster
    from understudy.workflow.toolbox.cluster_release import (
        cluster_release as cluster_release,
    )
    from understudy.workflow.toolbox.find_itemsets import find_itemsets as find_itemsets
    from understudy.workflow.toolbox.graphs import measure_graph as measure_graph
    from understudy.workflow.toolbox.medians import propose_median as propose_median
    from understudy.workflow.toolbox.medians import smooth_median as smooth_median
    from understudy.workflow.toolbox.regress import regress as regress

__version__ = PACKAGE_VERSION

_PUBLIC_NAMES_BY_MODULE = {
    "understudy.accounting.budget": ("Budget",),
    "understudy.accounting.cost": ("Accounting",),
    "understudy.accounting.ledger": ("Ledger",),
    "understudy.accounting.neighbours": ("Neighbours",),
    "understudy.censuses.release": ("CensusRelease",),
    "understudy.databases.database_table": ("DatabaseTable",),
    "understudy.errors": ("UnderstudyError",),
    "understudy.evaluation.risk.intruder": ("Intruder",),
    "understudy.imputation.mask_grid": ("MaskGrid",),
    "understudy.imputation.mask_strength": ("MaskStrength",),
    "understudy.imputation.risk_targeted": ("RiskStrengths",),
    "understudy.inference.analysis": ("analyse", "combine"),
    "understudy.inference.copies": ("SyntheticCopies", "load_copies"),
    "understudy.notices": ("Notice",),
    "understudy.queries.builders": (
        "bins",
        "cases",
        "correlation",
        "count",
        "count_distinct",
        "covariance",
        "histogram",
        "mean",
        "median",
        "quantile",
        "select",
        "share",
        "stddev",
        "total",
        "variance",
    ),
    "understudy.queries.lookups": ("PublicTable",),
    "understudy.queries.query": ("Query",),
    "understudy.queries.results": ("AnswerTable",),
    "understudy.releases.answers.reconcile": ("reconcile",),
    "understudy.releases.guarantee": ("Guarantee",),
    "understudy.releases.release": ("Release", "load_release"),
    "understudy.schema.columns.base": ("Role",),
    "understudy.schema.columns.discrete": (
        "Boolean",
        "Categorical",
        "Identifier",
        "Text",
    ),
    "understudy.schema.columns.numeric": ("Integer", "Real"),
    "understudy.schema.columns.temporal": ("Date", "Datetime", "Time"),
    "understudy.schema.schema": ("Schema",),
    "understudy.schema.unit": ("Unit",),
    "understudy.server.client": ("connect",),
    "understudy.workflow.auditing.audit": ("audit",),
    "understudy.workflow.censuses.census": ("census",),
    "understudy.workflow.censuses.census_plan": ("plan_census",),
    "understudy.workflow.censuses.census_reading": ("load_census",),
    "understudy.workflow.censuses.census_saving": ("save_census",),
    "understudy.workflow.compare": ("compare",),
    "understudy.workflow.describe": ("describe",),
    "understudy.workflow.masking.mask": ("mask",),
    "understudy.workflow.open": ("TableLike",),
    "understudy.reports.evaluate": ("evaluate",),
    "understudy.reports.report": ("Report",),
    "understudy.reports.signoff": ("SignOff", "sign_off"),
    "understudy.workflow.planning.plan": ("Plan", "plan"),
    "understudy.workflow.asking.simulated_table": ("try_question",),
    "understudy.workflow.public_cliques": ("select_public_cliques",),
    "understudy.workflow.asking.prices": ("price",),
    "understudy.workflow.asking.online": ("ask_online",),
    "understudy.workflow.asking.questions": ("ask", "session"),
    "understudy.workflow.run_options": ("RunOptions",),
    "understudy.workflow.synthesize": ("synthesize",),
    "understudy.workflow.masking.tune_mask": ("tune_mask",),
    "understudy.workflow.toolbox.cluster": ("cluster",),
    "understudy.workflow.toolbox.cluster_release": ("cluster_release",),
    "understudy.workflow.toolbox.find_itemsets": ("find_itemsets",),
    "understudy.workflow.toolbox.graphs": ("measure_graph",),
    "understudy.workflow.toolbox.medians": ("propose_median", "smooth_median"),
    "understudy.workflow.toolbox.regress": ("regress",),
}
_PUBLIC_MODULES = frozenset({"errors", "local", "synthesizers"})
_MODULE_BY_PUBLIC_NAME = {
    name: module for module, names in _PUBLIC_NAMES_BY_MODULE.items() for name in names
}

__all__ = [
    "Accounting",
    "AnswerTable",
    "Boolean",
    "Budget",
    "Categorical",
    "CensusRelease",
    "DatabaseTable",
    "Date",
    "Datetime",
    "Guarantee",
    "Identifier",
    "Integer",
    "Intruder",
    "Ledger",
    "MaskGrid",
    "MaskStrength",
    "Neighbours",
    "Notice",
    "Plan",
    "PublicTable",
    "Query",
    "Real",
    "Release",
    "Report",
    "RiskStrengths",
    "Role",
    "RunOptions",
    "Schema",
    "SignOff",
    "SyntheticCopies",
    "TableLike",
    "Text",
    "Time",
    "UnderstudyError",
    "Unit",
    "analyse",
    "ask",
    "ask_online",
    "audit",
    "bins",
    "cases",
    "census",
    "cluster",
    "cluster_release",
    "combine",
    "compare",
    "connect",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "describe",
    "errors",
    "evaluate",
    "find_itemsets",
    "histogram",
    "load_census",
    "load_copies",
    "load_release",
    "local",
    "mask",
    "mean",
    "measure_graph",
    "median",
    "plan",
    "plan_census",
    "price",
    "propose_median",
    "quantile",
    "reconcile",
    "regress",
    "save_census",
    "select",
    "select_public_cliques",
    "session",
    "share",
    "sign_off",
    "smooth_median",
    "stddev",
    "synthesize",
    "synthesizers",
    "total",
    "try_question",
    "tune_mask",
    "variance",
]


def __getattr__(name: str) -> object:
    if name in _PUBLIC_MODULES:
        return import_module(f"understudy.{name}")
    if name not in _MODULE_BY_PUBLIC_NAME:
        raise AttributeError(f"module 'understudy' has no attribute {name!r}")
    module = import_module(_MODULE_BY_PUBLIC_NAME[name])
    value: object = getattr(module, name)
    # Kept, so that the next use finds the name without calling this function.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
