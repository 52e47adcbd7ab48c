"""Other tools' descriptions of tables, read and written: nothing is dropped in silence."""

from understudy.schema.formats.catalogue import (
    FORMATS,
    OWN,
    Exported,
    Format,
    Imported,
    detect,
    load_format,
    read_format,
    save_format,
    write_format,
)

__all__ = [
    "FORMATS",
    "OWN",
    "Exported",
    "Format",
    "Imported",
    "detect",
    "load_format",
    "read_format",
    "save_format",
    "write_format",
]
