"""What a table looks like, and nothing about who is in it."""

from understudy.schema.columns.base import Column, OutOfBoundsPolicy, Role
from understudy.schema.columns.code_layout import BinEdges, DecodedCells, LabelLookup
from understudy.schema.columns.codec import Codec, codec_of
from understudy.schema.columns.discrete import (
    Boolean,
    Categorical,
    Identifier,
    Text,
    UndeclaredColumn,
    name_rest,
)
from understudy.schema.columns.lattice import Lattice
from understudy.schema.columns.numeric import Integer, Real
from understudy.schema.columns.temporal import Date, Datetime, Time
from understudy.schema.counted_rows import (
    describe_broken_rows,
    describe_counted_rows,
)
from understudy.schema.disclosed import (
    OpenDomain,
    describe_declared,
    describe_learned,
    open_domains,
)
from understudy.schema.identifier_names import guess_identifier
from understudy.schema.predicates.ast import Predicate
from understudy.schema.predicates.on_cells import (
    possibly_true_cells,
    surely_true_cells,
    truth_of_cells,
)
from understudy.schema.predicates.on_row import holds_for_row
from understudy.schema.predicates.on_values import true_rows
from understudy.schema.predicates.parser import parse_predicate
from understudy.schema.predicates.rules import (
    AllowedCombinations,
    AlwaysRule,
    BrokenRowPolicy,
    FunctionalDependency,
    NeverRule,
    Rule,
)
from understudy.schema.schema import Schema
from understudy.schema.unit import Unit
from understudy.schema.yaml.commented import dump_schema
from understudy.schema.yaml.file import (
    json_schema,
    schema_from_dict,
)
from understudy.schema.yaml.writer import schema_to_dict

__all__ = [
    "AllowedCombinations",
    "AlwaysRule",
    "BinEdges",
    "Boolean",
    "BrokenRowPolicy",
    "Categorical",
    "Codec",
    "Column",
    "Date",
    "Datetime",
    "DecodedCells",
    "FunctionalDependency",
    "Identifier",
    "Integer",
    "LabelLookup",
    "Lattice",
    "NeverRule",
    "OpenDomain",
    "OutOfBoundsPolicy",
    "Predicate",
    "Real",
    "Role",
    "Rule",
    "Schema",
    "Text",
    "Time",
    "UndeclaredColumn",
    "Unit",
    "codec_of",
    "describe_broken_rows",
    "describe_counted_rows",
    "describe_declared",
    "describe_learned",
    "dump_schema",
    "guess_identifier",
    "holds_for_row",
    "json_schema",
    "name_rest",
    "open_domains",
    "parse_predicate",
    "possibly_true_cells",
    "schema_from_dict",
    "schema_to_dict",
    "surely_true_cells",
    "true_rows",
    "truth_of_cells",
]
