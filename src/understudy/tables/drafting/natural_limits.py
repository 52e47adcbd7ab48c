"""Natural limits: what everybody knows of a month, an age or a percentage, by the name
of a column alone and in several languages.

A limit is public knowledge, so a draft may write it down where a bound that was read
off the rows must not be. The rows only decide whether it is written: never where a
cell contradicts it, and never where it would be far wider than what the column uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from understudy.schema.name_words import split_name_words

MIN_USED_WIDTH = 0.25
"""Part of a wide natural range that the cells must span for it to be drafted. Bounds
that are far too wide spread noise over values that hardly occur: at a tenth of the
width, means are worse than with learned bounds.
"""

MAX_SMALL_DOMAIN = 64
"""Values of a domain that gets a bin for each value free of charge, however few of
them are used.
"""

MAX_FLOOR_SHARE = 0.1
"""How far above zero, as a part of the largest cell, the smallest may lie for zero to
be drafted as the lower bound.
"""

MIN_RATING_VALUES = 3
"""Different answers from which a scale of answers is evident."""

RATING_SCALES = ((1, 5), (0, 5), (1, 7), (1, 10), (0, 10), (0, 100))
"""Scales that forms offer, short before long."""


@dataclass(frozen=True)
class NaturalLimits:
    """What the cells of a column may be by nature: no upper bound for amounts."""

    what: str
    low: int
    high: int | None

    @property
    def note(self) -> str:
        """What a draft says to its owner."""
        return f"natural limits of {self.what}: change them if you know better"


@dataclass(frozen=True)
class NumberRange:
    """What the numbers of a column span, and how many different ones there are."""

    low: float
    high: float
    distinct: int


_CALENDAR_WORDS = {
    "month": "month mon monat mois mes mese maand",
    "day": "day mday tag jour dia giorno dag",
    "day of the year": "yday doy dayofyear",
    "weekday": "weekday wday dow dayofweek wochentag weekdag",
    "week": "week woche semaine semana settimana",
    "hour": "hour hr hh stunde heure hora ora uur",
    "minute": "minute minuto minuut",
    "second": "second seconde segundo secondo",
    "year": "year yr jahr annee ano anno jaar yyyy",
}
"""Words for units of the calendar in English, German, French, Spanish, Italian, Dutch
and Portuguese, without accents; in the singular, for `hours` and `days` say how long.
"""

_MEASURE_WORDS = {
    "percentage": (
        "percent percentage pct perc prozent pourcentage porcentaje percentuale"
        " procent percentagem %"
    ),
    "share": (
        "share proportion fraction prob probability anteil wahrscheinlichkeit"
        " probabilite proporcion probabilidad proporzione probabilita quota aandeel"
        " kans proporcao probabilidade"
    ),
    "age": "age alter edad eta leeftijd idade",
    "latitude": "lat latitude breitengrad latitud latitudine breedtegraad",
    "longitude": "lon lng long longitude laengengrad langengrad longitud longitudine",
    "rating": (
        "rating stars likert satisfaction bewertung zufriedenheit etoiles calificacion"
        " puntuacion valutazione beoordeling avaliacao"
    ),
    "amount": (
        # How many
        "n num number count counts nb nbr cnt qty quantity anzahl menge nombre aantal"
        " hoeveelheid cantidad conteggio quantita quantite quantidade visits children"
        " kids kinder enfants hijos figli kinderen filhos population bevolkerung"
        " poblacion popolazione bevolking"
        # How much money
        " price preis prix precio prezzo prijs preco fare cost costs kosten cout costo"
        " custo income einkommen revenu ingreso reddito inkomen renda salary gehalt"
        " salaire salario stipendio salaris wage wages lohn"
        # How large
        " weight gewicht poids peso height hohe hoehe taille altura altezza hoogte"
        " width breite largeur ancho length laenge lange longueur lengte distance"
        " distanz entfernung distancia distanza afstand area flaeche flache surface"
        " superficie oppervlakte volume speed rainfall precipitation"
        # How long
        " duration dauer duree duracion durata duur days tage jours dias giorni dagen"
        " hours stunden heures horas ore uren minutes minuten seconds sekunden months"
        " monate weeks wochen years jahre experience tenure"
    ),
}
"""Words for what has natural limits, in the same languages."""

_FURTHER_WORDS = {
    "of": "of de du des der di del da do van",
    "whole": "year annee jahr week semana semaine settimana",
    "not years": "month months mo week weeks day days group grp cat band",
    "series": "time date period quarter zeit datum temps tiempo",
}

_WORDS_BY_KIND = {
    kind: frozenset(spelled.split())
    for kind, spelled in (_CALENDAR_WORDS | _MEASURE_WORDS | _FURTHER_WORDS).items()
}

_COMPOUND_ENDS = (
    "monat", "wochentag", "woche", "stunde", "jahr", "prozent", "anteil", "alter",
    "gewicht", "preis", "kosten", "anzahl", "einkommen", "dauer", "maand", "jaar",
    "leeftijd", "aandeel", "prijs", "inkomen", "duur",
)  # fmt: skip
"""Ends of German and Dutch words that are written as one: Geburtsmonat."""


def find_limits(name: str, cells: NumberRange) -> NaturalLimits | None:
    """The natural limits of a column of whole or decimal numbers with this name; None
    where it has none, or where the cells contradict or hardly use them.

    >>> find_limits("Geburtsmonat", NumberRange(3, 9, 7))
    NaturalLimits(what='a month', low=1, high=12)
    >>> find_limits("month", NumberRange(0, 40, 41))
    """
    words = _split_compounds(name)
    if not words:
        return None
    limits = _limits_of_kind(_find_kind(words), cells)
    return limits if limits is not None and _suits(limits, cells) else None


def names_time(name: str) -> bool:
    """Whether a name says that numbers count time: a series has each only once, and
    yet they number nobody.

    >>> names_time("year"), names_time("obs")
    (True, False)
    """
    words = _split_compounds(name)
    is_series = bool(words) and words[-1] in _WORDS_BY_KIND["series"]
    return is_series or _find_calendar(words) is not None


def _split_compounds(name: str) -> list[str]:
    """The words of a name without the numbers at its end, and of words that are written
    as one the last.
    """
    words = split_name_words(name)
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return [_last_of_compound(word) for word in words]


def _last_of_compound(word: str) -> str:
    return next((end for end in _COMPOUND_ENDS if word.endswith(end)), word)


def _find_kind(words: list[str]) -> str | None:
    """What a name says its column holds."""
    calendar = _find_calendar(words)
    if calendar is not None:
        return calendar
    ends = {words[0], words[-1]}
    if "age" in ends and _WORDS_BY_KIND["not years"] & set(words):
        return None
    for kind in _MEASURE_WORDS:
        if ends & _WORDS_BY_KIND[kind]:
            return kind
    return "percentage" if words[0].startswith("pct") else None


def _find_calendar(words: list[str]) -> str | None:
    """The unit of the calendar that a name ends with, or begins with: month of birth."""
    if not words:
        return None
    is_of = len(words) > 1 and words[1] in _WORDS_BY_KIND["of"]
    head = words[0] if is_of else words[-1]
    units = [unit for unit in _CALENDAR_WORDS if head in _WORDS_BY_KIND[unit]]
    if units == ["day"] and is_of:
        return _find_day_unit(set(words[2:]))
    return units[0] if units else None


def _find_day_unit(rest: set[str]) -> str:
    """Which day it is of the week, the year or the month."""
    whole = rest & _WORDS_BY_KIND["whole"]
    if not whole:
        return "day"
    return "day of the year" if whole & {"year", "annee", "jahr"} else "weekday"


_FIXED_LIMITS = {
    "month": NaturalLimits("a month", 1, 12),
    "day": NaturalLimits("a day of the month", 1, 31),
    "day of the year": NaturalLimits("a day of the year", 1, 366),
    "minute": NaturalLimits("a minute", 0, 59),
    "second": NaturalLimits("a second", 0, 59),
    "share": NaturalLimits("a share", 0, 1),
    "age": NaturalLimits("an age in years", 0, 120),
    "latitude": NaturalLimits("a latitude", -90, 90),
    "longitude": NaturalLimits("a longitude", -180, 180),
    "amount": NaturalLimits("an amount", 0, None),
}


def _limits_of_kind(kind: str | None, cells: NumberRange) -> NaturalLimits | None:
    """The limits of a kind; where people count in two ways, by the way of the cells."""
    # Weekdays and weeks begin with 0 or 1.
    first = 0 if cells.low < 1 else 1
    match kind:
        case "weekday":
            return NaturalLimits("a day of the week", first, first + 6)
        case "week":
            return NaturalLimits("a week of the year", first, 53)
        case "hour":
            # Midnight is 0 or 24.
            first_hour = 1 if cells.high == 24 else 0
            return NaturalLimits("an hour of the day", first_hour, first_hour + 23)
        case "year":
            return NaturalLimits("a year", 1900, datetime.now(UTC).year)
        case "percentage":
            # Percentages that never exceed one may be shares.
            return NaturalLimits("a percentage", 0, 100) if cells.high > 1 else None
        case "rating":
            return _find_scale(cells)
    return _FIXED_LIMITS.get(kind or "")


def _find_scale(cells: NumberRange) -> NaturalLimits | None:
    """The shortest usual scale of answers that holds all cells."""
    if cells.distinct < MIN_RATING_VALUES:
        return None
    for low, high in RATING_SCALES:
        if low <= cells.low and cells.high <= high:
            return NaturalLimits("a scale of answers", low, high)
    return None


def _suits(limits: NaturalLimits, cells: NumberRange) -> bool:
    """Whether no cell contradicts the limits, and enough of them is used."""
    if cells.low < limits.low:
        return False
    if limits.high is None:
        return cells.low <= MAX_FLOOR_SHARE * cells.high
    if cells.high > limits.high:
        return False
    width = limits.high - limits.low
    # A domain of whole numbers with few values has a bin for each, used or not.
    is_small = 1 < width < MAX_SMALL_DOMAIN
    return is_small or cells.high - cells.low >= MIN_USED_WIDTH * width
