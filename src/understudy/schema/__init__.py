"""What a table looks like, and nothing about who is in it."""

from understudy.schema.columns.codec import Codec, Decoded, Edges, Lookup, codec_of
from understudy.schema.columns.discrete import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Identifier,
    Integer,
    Lattice,
    Outside,
    Real,
    Role,
    Text,
    Time,
    Undeclared,
)
from understudy.schema.disclosed import Hole, declarations, guess_identifier, holes, learned
from understudy.schema.predicates.ast import Predicate
from understudy.schema.predicates.on_cells import cells, possibly, surely
from understudy.schema.predicates.on_values import holds, true_rows
from understudy.schema.predicates.parser import parse_predicate
from understudy.schema.predicates.rules import Allowed, Always, Broken, Determines, Never, Rule
from understudy.schema.schema import Schema, Unit
from understudy.schema.yaml.commented import dump_schema
from understudy.schema.yaml.file import json_schema, load_schema, parse_schema, save_schema, schema_from_dict
from understudy.schema.yaml.writer import schema_to_dict

__all__ = [
    "Allowed",
    "Always",
    "Boolean",
    "Broken",
    "Categorical",
    "Codec",
    "Column",
    "Date",
    "Datetime",
    "Decoded",
    "Determines",
    "Edges",
    "Hole",
    "Identifier",
    "Integer",
    "Lattice",
    "Lookup",
    "Never",
    "Outside",
    "Predicate",
    "Real",
    "Role",
    "Rule",
    "Schema",
    "Text",
    "Time",
    "Undeclared",
    "Unit",
    "cells",
    "codec_of",
    "declarations",
    "dump_schema",
    "guess_identifier",
    "holds",
    "holes",
    "json_schema",
    "learned",
    "load_schema",
    "parse_predicate",
    "parse_schema",
    "possibly",
    "save_schema",
    "schema_from_dict",
    "schema_to_dict",
    "surely",
    "true_rows",
]
