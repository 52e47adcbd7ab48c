"""Which column names suggest that a column identifies people."""

from __future__ import annotations

import re

_IDENTIFIER_WORDS = frozenset({
    "id", "uid", "uuid", "guid", "pid", "key", "ssn", "nino", "nif", "nie", "dni",
    "cpf", "curp", "ahv", "avs", "nhs", "mrn", "npi", "iban", "bic", "cvv", "imei",
    "imsi", "email", "mail", "phone", "telephone", "tel", "mobile", "fax", "address",
    "street", "addr", "name", "surname", "lastname", "firstname", "fullname",
    "forename", "username", "login", "nickname", "passport", "licence", "license",
    "vin", "url", "ip", "signature", "fingerprint", "photo",
})  # fmt: skip
"""Words that name a person, or a thing that leads to one, alone or at the end of a
column's name.
"""

_LEADING_IDENTIFIER_WORDS = frozenset({"email", "ssn", "iban", "phone", "passport"})
"""Words that identify a person at the beginning of a name too: `email_work`."""

_PERSON_WORDS = frozenset({
    "first", "last", "given", "family", "middle", "maiden", "full", "sur", "user",
    "patient", "person", "client", "customer", "employee", "student", "member",
    "respondent", "participant", "subject", "doctor", "physician", "nurse", "teacher",
    "contact", "mother", "father", "child", "guardian", "spouse",
})  # fmt: skip
"""Words before `name` that make it a person's: `patient_name`, but not `drug_name`."""

_NUMBER_WORDS = frozenset({"number", "no", "nr", "num"})

_NUMBERED_WORDS = frozenset({
    "patient", "account", "card", "policy", "case", "customer", "member", "record",
    "insurance",
})  # fmt: skip
"""Words whose number identifies a person: `patient_number`, but not `house_number`."""

# Between letters and anything else, and where capitals begin: homeAddress, userID.
_WORD_BREAK_REGEX = re.compile(
    r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)


def guess_identifier(name: str) -> bool:
    """Whether a column's name, which is public, suggests that it identifies people.

    The last word decides (`patient_id`, `homeAddress`, `IBAN`), or a first word such as
    `email` (`email_work`). A `name` counts if it stands alone or is somebody's (`last
    name`). No value is looked at.

    >>> names = ("patient_id", "Last Name", "drug_name", "covid", "userID", "e-mail")
    >>> [name for name in names if guess_identifier(name)]
    ['patient_id', 'Last Name', 'userID', 'e-mail']
    """
    words = _split_words(name)
    if not words:
        return False
    if words[:2] == ["e", "mail"]:
        return True
    last = words[-1].rstrip("0123456789") or words[-1]
    if last in _NUMBER_WORDS and len(words) > 1:
        words.pop()
        last = words[-1]
        if last in _NUMBERED_WORDS:
            return True
    if last == "name":
        return len(words) == 1 or words[-2] in _PERSON_WORDS
    return last in _IDENTIFIER_WORDS or words[0] in _LEADING_IDENTIFIER_WORDS


def _split_words(name: str) -> list[str]:
    """The words of a name in lower case, without the numbers at its end (`phone 2`)."""
    words = [word.lower() for word in _WORD_BREAK_REGEX.split(name) if word]
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return words
