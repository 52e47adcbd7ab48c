"""What a table looks like, and nothing about who is in it."""

from understudy.schema.codec import Codec, Decoded, Edges, Lookup, codec_of
from understudy.schema.column import (
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
from understudy.schema.grammar import parse_predicate
from understudy.schema.predicate import Predicate
from understudy.schema.schema import Schema, Unit
from understudy.schema.truth import cells, holds, possibly, surely

__all__ = [
    "Boolean",
    "Categorical",
    "Codec",
    "Column",
    "Date",
    "Datetime",
    "Decoded",
    "Edges",
    "Identifier",
    "Integer",
    "Lattice",
    "Lookup",
    "Outside",
    "Predicate",
    "Real",
    "Role",
    "Schema",
    "Text",
    "Time",
    "Undeclared",
    "Unit",
    "cells",
    "codec_of",
    "holds",
    "parse_predicate",
    "possibly",
    "surely",
]
