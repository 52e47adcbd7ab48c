"""Other tools' descriptions of tables, read and written: nothing is dropped in silence."""

from understudy.schema.formats.catalogue import (
    FOREIGN_FORMATS,
    OWN_FORMAT,
    ExportedSchema,
    ImportedSchema,
    SchemaFormat,
    detect_format,
    load_format,
    read_format,
    save_format,
    write_format,
)

__all__ = [
    "FOREIGN_FORMATS",
    "OWN_FORMAT",
    "ExportedSchema",
    "ImportedSchema",
    "SchemaFormat",
    "detect_format",
    "load_format",
    "read_format",
    "save_format",
    "write_format",
]
