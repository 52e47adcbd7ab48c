"""Other tools' descriptions of tables, imported and exported; whatever is left out is
noted.
"""

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
