"""Names of columns that identify people, told by the name alone."""

from __future__ import annotations

import pytest

from understudy.schema.identifier_names import guess_identifier, names_person

GIVE_AWAY = (
    "id|ID|patient_id|patientId|PatientID|person id|record.id|uuid|name|Name|first_name|LastName|surname|patient_name|ssn|SSN_last4|email|"
    "E-Mail|email_address|workEmail|phone|phone2|mobile|home address|street|IBAN|mrn|passport_no|card number|patient number|user_name|"
    "ip|imei|id_2|familyid|Ketchup.hid|patid|Prénom|Nachname|Straße|cognome|endereço|téléphone|numero paciente"
)
HARMLESS = (
    "age|sex|covid|idle|video|drug_name|product name|number|width|paid|valid|income|zip code|postal_code|race||...|12|keyboard|grid|named|"
    "emailed|PhoneService|phone_type|email domain|passport_country|children number|rating|fluid|acid|hybrid|humid|subject|nombre"
)


@pytest.mark.parametrize("name", GIVE_AWAY.split("|"))
def test_names_that_give_people_away(name):
    assert guess_identifier(name)


@pytest.mark.parametrize("name", HARMLESS.split("|"))
def test_names_that_do_not(name):
    assert not guess_identifier(name)


def test_nouns_for_people_alone_name_them():
    names = ("subject", "Patient", "ménage", "subject area", "patients", "ward")
    assert [name for name in names if names_person(name)] == [
        "subject",
        "Patient",
        "ménage",
    ]
