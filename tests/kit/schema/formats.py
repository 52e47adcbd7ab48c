"""A clinic's table, described in the words of six tools, as their users write them."""

from __future__ import annotations

SMARTNOISE = """\
engine: sqlserver
"":
  clinic:
    visits:
      max_ids: 5
      rows: 12000
      censor_dims: true
      patient: {type: int, private_id: true}
      age: {type: int, lower: 0, upper: 110, nullable: false}
      dose: {type: float, lower: 0.0, upper: 250.5}
      sex: {type: string, cardinality: 3}
      smoker: {type: boolean}
      admitted: {type: datetime}
"""

SDV = """\
{
  "tables": {
    "visits": {
      "primary_key": "visit",
      "columns": {
        "visit": {"sdtype": "id", "regex_format": "V[0-9]{6}"},
        "age": {"sdtype": "numerical", "range_min": 0, "range_max": 110, "decimal_places": 0, "range_is_nullable": false},
        "dose": {"sdtype": "numerical", "range_min": 0.0, "range_max": 250.50, "decimal_places": 2},
        "sex": {"sdtype": "categorical", "range_values": ["F", "M", "X"]},
        "grade": {"sdtype": "ordinal", "range_values": ["low", "mid", "high"]},
        "town": {"sdtype": "categorical", "high_cardinality": true},
        "smoker": {"sdtype": "boolean"},
        "admitted": {"sdtype": "datetime", "datetime_format": "%d/%m/%Y", "range_min": "01/01/2015", "range_max": "31/12/2024"},
        "mail": {"sdtype": "email", "pii": true}
      }
    }
  },
  "relationships": [],
  "METADATA_SPEC_VERSION": "V2"
}
"""

SDV_SINGLE = """\
{
  "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
  "primary_key": "visit",
  "columns": {
    "visit": {"sdtype": "id"},
    "age": {"sdtype": "numerical", "computer_representation": "Int64"},
    "dose": {"sdtype": "numerical", "computer_representation": "Float"},
    "sex": {"sdtype": "categorical"}
  }
}
"""

FRICTIONLESS = """\
{
  "name": "clinic",
  "resources": [{
    "name": "visits",
    "path": "visits.csv",
    "schema": {
      "missingValues": ["", "-7"],
      "primaryKey": "visit",
      "fields": [
        {"name": "visit", "type": "integer"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110, "required": true}},
        {"name": "dose", "type": "number", "constraints": {"minimum": "0", "maximum": 250.5}, "description": "mg per day"},
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M", "X"]}},
        {"name": "grade", "type": "string", "categoriesOrdered": true,
         "categories": [{"value": "1", "label": "low"}, {"value": "2", "label": "high"}]},
        {"name": "smoker", "type": "boolean", "trueValues": ["ja"], "falseValues": ["nein"]},
        {"name": "admitted", "type": "date", "constraints": {"minimum": "2015-01-01", "maximum": "2024-12-31"}},
        {"name": "town", "type": "string", "constraints": {"pattern": "[A-Z].*"}},
        {"name": "shape", "type": "geojson"}
      ]
    }
  }]
}
"""

CSVW = """\
{
  "@context": ["http://www.w3.org/ns/csvw", "https://example.org/csvw-eo-context.jsonld"],
  "@type": "Table",
  "privacyUnit": "patient",
  "maxContributions": 5,
  "maxLength": 100000,
  "publicLength": 12000,
  "tableSchema": {
    "columns": [
      {"@type": "Column", "name": "patient", "datatype": "string", "required": true, "privacyId": true},
      {"@type": "Column", "name": "age", "datatype": "unsignedByte", "required": true, "maximum": 110},
      {"@type": "Column", "name": "dose", "datatype": {"base": "decimal", "minimum": "0", "maximum": "250.50"},
       "nullableProportion": 0.02},
      {"@type": "Column", "name": "sex", "datatype": "string", "keyValues": ["F", "M", "X"], "exhaustiveKeys": true},
      {"@type": "Column", "name": "town", "datatype": "string", "keyValues": ["Bern", "Thun"], "exhaustiveKeys": false},
      {"@type": "Column", "name": "canton", "datatype": "string", "keyValues": ["BE", "ZH"],
       "rowDependencies": [{"dependsOn": "town", "dependencyType": "mapping", "valueMap": {"Bern": ["BE"], "Thun": "BE"}}]},
      {"@type": "Column", "name": "admitted", "datatype": "date", "minimum": "2015-01-01", "maximum": "2024-12-31"},
      {"@type": "Column", "name": "discharged", "datatype": "date", "minimum": "2015-01-01", "maximum": "2024-12-31",
       "rowDependencies": [{"dependsOn": "admitted", "dependencyType": "bigger"}]},
      {"@type": "Column", "name": "blood", "datatype": "string", "keyValues": ["A", "B", "O"],
       "rowDependencies": [{"dependsOn": "patient", "dependencyType": "fixedPerEntity"}]},
      {"@type": "Column", "name": "pulse", "datatype": "integer", "minimum": 40, "maximum": 199, "partitions": [
        {"@type": "Partition", "predicate": {"lowerBound": 40, "upperBound": 80}, "maxLength": 9},
        {"@type": "Partition", "predicate": {"lowerBound": 80, "upperBound": 200}, "maxLength": 9}]}
    ]
  }
}
"""

DPSYNTH = """\
age:
  clip_to_range: true
  dtype: int
  max_value: 110.0
  min_value: 0.0
dose:
  type: NumericalAttribute
  clip_to_range: false
  dtype: float
  min_value: 0
  max_value: 250.25
sex:
  out_of_domain_index: 0
  possible_values: [other, F, M]
smoker:
  possible_values: [null, 'yes', 'no']
  out_of_domain_index: 0
town:
  type: OpenSetCategoricalAttribute
  default_value: elsewhere
remarks:
  max_tokens: 200
"""

NIST = """\
{
  "AGE": {"description": "Age", "values": {"min": 0, "max": 99}},
  "MARITAL": {"description": "Marital status", "values": {"N": "under 15", "1": "married", "6": "never married"}},
  "CHILDREN": {"description": "Own children", "values": {"N": "group quarters", "0": "none", "min": 1, "max": 19}},
  "RATIO": {"description": "Income to poverty line", "values": {"N": "N/A", "min": 0, "max": 500, "501": "above"}},
  "DENSITY": {"description": "People per square mile", "values": {"min": 16.3, "max": 52864.7}},
  "CODE": {"description": "Industry", "details": "271 codes", "link": "https://example.org/codes.pdf"},
  "ODD": {"description": "With codes far off", "values": {"min": 0, "max": 10, "-7": "refused", "-8": "unknown"}}
}
"""

ALL = {
    "smartnoise": SMARTNOISE,
    "sdv": SDV,
    "frictionless": FRICTIONLESS,
    "csvw": CSVW,
    "dpsynth": DPSYNTH,
    "nist": NIST,
}
