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
from understudy.schema.schema import Schema, Unit

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
    "Real",
    "Role",
    "Schema",
    "Text",
    "Time",
    "Undeclared",
    "Unit",
    "codec_of",
]
