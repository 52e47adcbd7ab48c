"""The words of a column's name, which is public."""

from __future__ import annotations

import re
import unicodedata

# Between letters and anything else, and where capitals begin: homeAddress, userID.
_WORD_BREAK_REGEX = re.compile(
    r"[^A-Za-z0-9%]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?=%)"
)
# What decomposes into no letter and accent, as people spell it without.
_PLAIN_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l"})


def split_name_words(name: str) -> list[str]:
    """The words of a name in lower case and without accents.

    >>> split_name_words("homeAddress_2"), split_name_words("Année de naissance")
    (['home', 'address', '2'], ['annee', 'de', 'naissance'])
    """
    decomposed = unicodedata.normalize("NFKD", name)
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    pieces = _WORD_BREAK_REGEX.split(plain.translate(_PLAIN_LETTERS))
    return [piece.lower() for piece in pieces if piece]
