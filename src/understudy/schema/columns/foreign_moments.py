"""Dates and times in files of Stata, SPSS and SAS: numbers since a day long ago, which
the public format of their column tells from other numbers.

Each cell is converted by itself, and here: the library that reads such files stops at
the first moment beyond the calendar, so that one row would decide whether there is a
table. Such a number stays a number, which is no value of a column of dates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

Moment = date | datetime | time

SECONDS_PER_DAY = 86_400

# A name of SPSS or SAS without its width: DATETIME20 is DATETIME.
_NAME_REGEX = re.compile(r"([A-Z][A-Z0-9]+[A-Z])(?:\d+(?:\.\d+)?)?")

_SAS_DAY_FORMATS = (
    *("WEEKDATE", "WEEKDATX", "DATE", "DTDATE", "IS8601DA", "E8601DA", "B8601DA"),
    *(f"{order}{mark}" for order in ("DDMMYY", "MMDDYY") for mark in ("", *"BCDNPS")),
    *(f"YYMMDD{mark}" for mark in ("", *"BDNPS")),
)
_SAS_MOMENT_FORMATS = (
    *("DATETIME", "E8601DT", "DATEAMPM", "MDYAMPM", "IS8601DT", "B8601DT"),
    "B8601DN",
)
_SAS_CLOCK_FORMATS = (
    *("TIME", "HHMM", "TOD", "TIMEAMPM", "IS8601TM", "E8601TM", "B8601TM"),
)


@dataclass(frozen=True)
class MomentFormats:
    """The formats of one program: its first day, how many units a day has in columns of
    days and of moments, and the formats of days, moments and times of day.
    """

    origin: datetime
    units_per_day: tuple[int, int]
    days: tuple[str, ...]
    moments: tuple[str, ...]
    clocks: tuple[str, ...]

    def reader(self, written: str) -> Callable[[float], Moment] | None:
        """What a number of a column with this format stands for; None where it is only
        a number.
        """
        found = _NAME_REGEX.fullmatch(written)
        name = written if found is None else found[1]
        day, moment = self.units_per_day
        if name in self.days:
            return lambda number: self._at(number, day).date()
        if name in self.moments:
            return lambda number: self._at(number, moment)
        if name in self.clocks:
            return lambda number: self._at(number, moment).time()
        return None

    def _at(self, number: float, units: int) -> datetime:
        days, rest = divmod(number, units)
        share = timedelta(seconds=round(rest * SECONDS_PER_DAY / units, 6))
        return self.origin + timedelta(days=days) + share


STATA_FORMATS = MomentFormats(
    datetime(1960, 1, 1),
    (1, 1_000 * SECONDS_PER_DAY),
    ("%td", "%d", "%tdD_m_Y", "%tdCCYY-NN-DD"),
    ("%tC", "%tc"),
    ("%tcHH:MM:SS", "%tcHH:MM"),
)
SPSS_FORMATS = MomentFormats(
    datetime(1582, 10, 14),
    (SECONDS_PER_DAY, SECONDS_PER_DAY),
    ("DATE", "ADATE", "EDATE", "JDATE", "SDATE"),
    ("DATETIME", "YMDHMS"),
    ("TIME", "DTIME"),
)
SAS_FORMATS = MomentFormats(
    datetime(1960, 1, 1),
    (1, SECONDS_PER_DAY),
    _SAS_DAY_FORMATS,
    _SAS_MOMENT_FORMATS,
    _SAS_CLOCK_FORMATS,
)

FORMATS_OF_ENDING = {
    ".dta": STATA_FORMATS,
    ".sav": SPSS_FORMATS,
    ".zsav": SPSS_FORMATS,
    ".por": SPSS_FORMATS,
    ".sas7bdat": SAS_FORMATS,
    ".xpt": SAS_FORMATS,
}


def find_moment_reader(ending: str, written: str) -> Callable[[object], object] | None:
    """How the cells of a column with this format are read, in a file with this ending;
    None where they are no dates or times.

    >>> read = find_moment_reader(".sav", "DATE11")
    >>> read(13_700_000_000.0), read(1e20)
    (datetime.date(2016, 12, 1), 1e+20)
    >>> find_moment_reader(".sav", "F8.2") is None
    True
    """
    read = FORMATS_OF_ENDING[ending].reader(written)
    if read is None:
        return None

    def read_cell(cell: object) -> object:
        # What stands for no number, and what is beyond the calendar, stays as it is.
        if not isinstance(cell, int | float) or math.isnan(cell):
            return cell
        try:
            return read(cell)
        except (OverflowError, ValueError):
            return cell

    return read_cell
