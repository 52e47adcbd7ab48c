"""Which column names suggest that a column identifies people."""

from __future__ import annotations

from understudy.schema.name_words import split_name_words

_IDENTIFIER_WORDS = frozenset({
    "id", "uid", "uuid", "guid", "pid", "key", "ssn", "nino", "nif", "nie", "dni",
    "cpf", "curp", "ahv", "avs", "nhs", "mrn", "npi", "iban", "bic", "cvv", "imei",
    "imsi", "email", "mail", "phone", "telephone", "tel", "mobile", "fax", "address",
    "street", "addr", "name", "surname", "lastname", "firstname", "fullname",
    "forename", "username", "login", "nickname", "passport", "licence", "license",
    "vin", "url", "ip", "signature", "fingerprint", "photo",
    # German
    "vorname", "nachname", "familienname", "adresse", "anschrift", "strasse",
    "telefon", "handy", "kennung", "kontonummer", "sozialversicherungsnummer",
    # French
    "nom", "prenom", "rue", "courriel", "portable", "identifiant", "matricule",
    # Spanish and Portuguese
    "apellido", "apellidos", "apelido", "sobrenome", "direccion", "endereco",
    "morada", "telefono", "telefone", "correo", "cedula", "celular", "movil",
    # Italian
    "cognome", "indirizzo", "cellulare",
    # Dutch
    "naam", "voornaam", "achternaam", "adres", "telefoon", "bsn",
})  # fmt: skip
"""Words that name a person, or a thing that leads to one, alone or at the end of a
column's name.
"""

_LEADING_IDENTIFIER_WORDS = frozenset({"email", "ssn", "iban", "phone", "passport"})
"""Words that identify a person at the beginning of a name too: `email_work`."""

_PROPERTY_WORDS = frozenset({
    "service", "services", "type", "kind", "plan", "usage", "use", "provider", "status",
    "operator", "carrier", "brand", "model", "verified", "consent", "country", "domain",
    "calls", "count", "minutes", "bill", "charge", "charges", "lines", "access",
})  # fmt: skip
"""Words after such a beginning that say what sort of it somebody has: `phone_service`."""

_PERSON_WORDS = frozenset({
    "first", "last", "given", "family", "middle", "maiden", "full", "sur", "user",
    "patient", "person", "client", "customer", "employee", "student", "member",
    "respondent", "participant", "subject", "doctor", "physician", "nurse", "teacher",
    "contact", "mother", "father", "child", "guardian", "spouse",
})  # fmt: skip
"""Words before `name` that make it a person's: `patient_name`, but not `drug_name`."""

_NUMBER_WORDS = frozenset({
    "number", "no", "nr", "num", "nummer", "numero",
})  # fmt: skip

_NUMBERED_WORDS = frozenset({
    "patient", "account", "card", "policy", "case", "customer", "member", "record",
    "insurance", "paciente", "paziente", "kunden", "patienten", "client", "cliente",
})  # fmt: skip
"""Words whose number identifies a person: `patient_number`, but not `house_number`."""

_JOINED_ID_STEMS = frozenset({
    "patient", "pat", "person", "pers", "user", "client", "customer", "cust", "member",
    "employee", "emp", "student", "stud", "subject", "subj", "respondent", "resp",
    "participant", "case", "record", "rec", "row", "obs", "family", "fam", "household",
    "house", "h", "hh", "indiv", "individual", "account", "acct", "visit", "study",
    "sample", "school", "teacher", "national", "tax",
})  # fmt: skip
"""What stands before `id` where a name has no space: `familyid`, but not `covid`."""

_PERSON_NOUNS = frozenset({
    "patient", "person", "subject", "respondent", "participant", "client", "customer",
    "employee", "student", "pupil", "member", "individual", "household", "proband",
    "user", "patientin", "kunde", "haushalt", "teilnehmer", "versicherte", "sujet",
    "menage", "paciente", "persona", "cliente", "sujeto", "hogar", "paziente",
    "soggetto", "klant", "deelnemer", "huishouden", "pessoa", "sujeito", "domicilio",
})  # fmt: skip
"""Nouns that name whoever a row is about."""


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
    # Romance languages put the number first: numero de paciente.
    if words[0] == "numero" and last in _NUMBERED_WORDS:
        return True
    if last == "name":
        return len(words) == 1 or words[-2] in _PERSON_WORDS
    if words[0] in _LEADING_IDENTIFIER_WORDS and last not in _PROPERTY_WORDS:
        return True
    return _is_identifying_word(last)


def _is_identifying_word(word: str) -> bool:
    is_joined_id = word.endswith("id") and word[:-2] in _JOINED_ID_STEMS
    return is_joined_id or word in _IDENTIFIER_WORDS


def names_person(name: str) -> bool:
    """Whether a column is called after whoever a row is about: a column of numbers or
    codes under such a name numbers people, and one of words describes them.

    >>> [name for name in ("Subject", "proband", "subject_area") if names_person(name)]
    ['Subject', 'proband']
    """
    words = _split_words(name)
    return len(words) == 1 and words[0] in _PERSON_NOUNS


def _split_words(name: str) -> list[str]:
    """The words of a name without the numbers at its end (`phone 2`)."""
    words = split_name_words(name)
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return words
