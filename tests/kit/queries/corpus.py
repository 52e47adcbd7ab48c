"""A corpus of questions in SQL about one table of people, each of which DuckDB can
answer too, and a list of questions that are refused.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl

from understudy.schema import Schema

PEOPLE_SCHEMA = Schema.parse(
    """
columns:
  sex: {type: categorical, values: [F, M, X], nullable: false}
  region: {type: categorical, values: [North, South, East, West]}
  age: {type: integer, min: 0, max: 99}
  children: {type: integer, min: 0, max: 9, nullable: false}
  income: {type: integer, min: -5000, max: 200000}
  weight: {type: real, min: 0, max: 200, step: 0.1}
  married: {type: boolean}
  born: {type: date, min: 1920-01-01, max: 2020-12-31}
"""
)


def make_people(rows: int = 400, seed: int = 1) -> pl.DataFrame:
    """Rows within the bounds, with missing values where they are allowed."""
    rng = np.random.default_rng(seed)

    def thin(values: list[object]) -> list[object]:
        gone = rng.random(rows) < 0.1
        return [None if lost else v for v, lost in zip(values, gone, strict=True)]

    days = rng.integers(-18000, 18000, rows).tolist()
    return pl.DataFrame(
        {
            "sex": rng.choice(["F", "M"], rows).tolist(),
            "region": thin(rng.choice(["North", "South", "East"], rows).tolist()),
            "age": thin(rng.integers(0, 100, rows).tolist()),
            "children": rng.integers(0, 10, rows).tolist(),
            "income": thin(rng.integers(-5000, 200001, rows).tolist()),
            "weight": thin((rng.integers(0, 2001, rows) / 10).tolist()),
            "married": thin((rng.random(rows) < 0.5).tolist()),
            "born": pl.Series(thin(days), dtype=pl.Int32).cast(pl.Date),
        }
    )


CONDITIONS = (
    "age > 60",
    "age >= 18 AND age < 65",
    "age BETWEEN 20 AND 29",
    "age NOT BETWEEN 20 AND 29",
    "NOT (age > 60)",
    "NOT (age > 60 AND sex = 'F')",
    "NOT (age > 60 OR married)",
    "age IN (1, 2, 3, 50)",
    "age NOT IN (1, 2, 3, 50)",
    "sex = 'F'",
    "sex <> 'F'",
    "NOT sex = 'F'",
    "region IN ('North', 'South')",
    "region NOT IN ('North')",
    "region IS NULL",
    "region IS NOT NULL AND age IS NULL",
    "NOT (region IS NULL)",
    "married",
    "NOT married",
    "married = FALSE",
    "married IS TRUE",
    "married IS NOT TRUE",
    "married IS FALSE OR age < 10",
    "income < 20000",
    "income >= -100.5",
    "income = 0 OR income > 199000",
    "weight <= 70.5",
    "weight > 70.55 AND weight < 90",
    "born < DATE '1980-01-01'",
    "born >= '1970-06-01' AND born <= '1990-12-31'",
    "age > children",
    "age >= 10 * children",
    "age + children > 60",
    "age - children = 30",
    "60 < age",
    "3 <= children AND (sex = 'M' OR region = 'East')",
    "(((age < 50)))",
    "age < 200",
    "age > 200",
    "sex LIKE 'F%'",
    "region NOT LIKE '%th'",
    "region ILIKE '_AST' OR sex LIKE 'Z'",
    "NOT (sex LIKE 'Z%')",
    "YEAR(born) = 1980",
    "YEAR(born) <> 1980 AND EXTRACT(YEAR FROM born) >= 1975",
    "NOT (YEAR(born) > 1980)",
    "children <> 3 AND NOT (children IN (4, 5))",
)

BRANCHED_CONDITIONS = (
    "COALESCE(age, 0) > 40",
    "NOT (COALESCE(age, 99) > 40)",
    "COALESCE(age, children, 3) < 5",
    "CASE WHEN married THEN age END > 40",
    "NOT (CASE WHEN married THEN age END > 40)",
    "CASE WHEN age > 60 THEN 1 WHEN region = 'North' THEN NULL ELSE 3 END <> 2",
    "40 < CASE WHEN married THEN age ELSE children END",
    "CASE sex WHEN 'F' THEN age WHEN 'M' THEN children END >= 5",
    "CASE WHEN CASE WHEN age > 50 THEN children ELSE 9 END > 3 THEN age ELSE 1 END > 55",
    "CASE WHEN age > 50 THEN 'old' ELSE 'young' END = 'old' OR children = 9",
    "(CASE WHEN married THEN age ELSE 0 END) BETWEEN 10 AND 20",
    "CASE WHEN married THEN age ELSE 0 END NOT IN (20, 21, 22)",
    "IF(married, age, children) <= 5",
    "NOT COALESCE(married, FALSE) AND COALESCE(region, 'none') = 'North'",
    "ABS(age - 40) NOT BETWEEN 2 AND 5",
    "NOT (ABS(income) <= 500)",
    "5 > ABS(age - 40)",
    "ABS(age - 40) = 5 OR ABS(age - 40) <> 5 AND married",
    "NOT (age / 3 <= 20) AND income / 12 < 9000.5",
    "1 = 1 AND age > 40",
    "1 = 0 OR age > 90",
    "NOT (FALSE OR age > 3 * (10 - children))",
    "YEAR(born) BETWEEN 1990 AND 1999 OR YEAR(born) IN (2001, 2002)",
    "YEAR(born) NOT IN (1990, 1991) AND TRUE",
    "(age + children) / 2 > 30 OR -age > -3",
    "age - children * 2 - 5 > 30",
)
"""With branches, linear expressions and constants."""

AGGREGATES = (
    "COUNT(*)",
    "COUNT(age)",
    "COUNT(region)",
    "SUM(income)",
    "SUM(children)",
    "SUM(weight)",
    "AVG(age)",
    "AVG(weight)",
    "AVG(income)",
    "VAR_SAMP(children)",
    "VARIANCE(age)",
    "STDDEV(weight)",
    "STDDEV_SAMP(income)",
    "COVAR_SAMP(age, children)",
    "CORR(age, weight)",
    "SUM(CASE WHEN age > 60 THEN 1 ELSE 0 END)",
    "COUNT(CASE WHEN sex = 'F' THEN 1 END)",
    "AVG(CASE WHEN married THEN 1.0 ELSE 0.0 END)",
    "SUM(CASE WHEN sex = 'M' THEN income ELSE 0 END)",
    "AVG(CASE WHEN sex = 'M' THEN age END)",
    "COUNT(*) FILTER (WHERE age < 18)",
    "SUM(income) FILTER (WHERE region = 'North')",
    "QUANTILE_DISC(age, 0.5)",
    "QUANTILE_DISC(income, 0.9)",
    "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY weight)",
    "COUNT(DISTINCT age)",
    "COUNT(DISTINCT region)",
)

EXPRESSIONS = (
    "VAR_SAMP(age) * 2",
    "(SUM(age))",
    "((AVG(age)))",
    "SUM(age) * 1",
    "SUM(age) + COUNT(*)",
    "1 + COUNT(weight)",
    "SUM(age) - SUM(children)",
    "-SUM(income)",
    "SUM(income) / COUNT(income)",
    "SUM(income) / COUNT(*)",
    "SUM(income) / NULLIF(COUNT(*), 0)",
    "100.0 * COUNT(CASE WHEN age > 60 THEN 1 END) / COUNT(*)",
    "COUNT(*) FILTER (WHERE sex = 'F') * 1.0 / COUNT(*)",
    "CAST(COUNT(*) AS DOUBLE) / 7",
    "AVG(income) / 12",
    "(AVG(income) - AVG(age)) / 2",
    "POWER(AVG(age), 2)",
    "SQRT(VAR_SAMP(age))",
    "STDDEV_SAMP(age) / AVG(age)",
    "ROUND(AVG(age), 1)",
    "ROUND(SUM(income) / 1000)",
    "FLOOR(AVG(weight))",
    "CEIL(AVG(weight))",
    "ABS(SUM(income))",
    "LN(COUNT(*))",
    "LOG2(COUNT(*) + 1)",
    "LOG10(COUNT(*) + 1)",
    "EXP(AVG(children) / 10)",
    "LEAST(COUNT(*), 50)",
    "GREATEST(COUNT(age), COUNT(weight))",
    "COALESCE(SUM(income), 0)",
    "PI() * COUNT(*)",
    "3",
    "2.5 * 4 + COUNT(*) * 0",
    "SUM(age + 1)",
    "SUM(2 * age - 1)",
    "SUM(1)",
    "AVG(1 - children)",
    "AVG((age + 3) / 2)",
    "VAR_SAMP(2 * age + 1)",
    "STDDEV(-3 * children)",
    "SUM(COALESCE(income, 0))",
    "AVG(COALESCE(age, 0))",
    "COUNT(COALESCE(age, 0))",
    "SUM(CASE WHEN age > 60 THEN 2 WHEN age > 30 THEN 1 ELSE 0 END)",
    "AVG(CASE WHEN age > 60 THEN 2 WHEN age > 30 THEN 1 ELSE 0 END)",
    "AVG(CASE WHEN age > 60 THEN 2 WHEN age > 30 THEN 1 END)",
    "SUM(CASE sex WHEN 'F' THEN 1 WHEN 'M' THEN -1 ELSE 0 END)",
    "SUM(CASE WHEN age < 18 THEN 0 ELSE income END)",
    "AVG(CASE WHEN income < 0 THEN 0 ELSE income END)",
    "COUNT(CASE WHEN age > 60 THEN 'old' WHEN age < 18 THEN 'young' END)",
    "COUNT(CASE WHEN sex = 'F' THEN age ELSE income END)",
    "SUM(IF(married, 1, 0))",
    "VAR_SAMP(age) + VARIANCE(age)",
)
"""What is computed of aggregates."""

EXPRESSION_KEYS = (
    "CASE WHEN age > 90 THEN 1 ELSE 0 END",
    "CASE WHEN age < 18 THEN 'minor' WHEN age < 65 THEN 'adult' ELSE 'senior' END",
    "CASE WHEN age < 18 THEN 'minor' WHEN age >= 18 THEN 'of age' END",
    "CASE sex WHEN 'F' THEN 'woman' ELSE 'other' END",
    "CASE WHEN region IS NULL THEN 'nowhere' ELSE region END",
    "CASE WHEN children > 3 THEN 4 ELSE children END",
    "CASE WHEN age > children THEN TRUE ELSE FALSE END",
    "COALESCE(region, 'nowhere')",
    "COALESCE(region, 'North')",
    "IF(income > 50000, 'rich', 'poor')",
    "age > 60",
    "NOT (age > 60) AND sex = 'F'",
    "region IN ('North', 'East')",
    "CAST(FLOOR(age / 10) AS INTEGER)",
    "CAST(children AS BIGINT)",
)

ARRANGED_QUESTIONS = (
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING COUNT(*) > 5",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING n BETWEEN 5 AND 5000",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING 5 < n AND sex = 'F'",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING COUNT(*) > COUNT(age)",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING SUM(age) / COUNT(*) > 1",
    "SELECT sex, AVG(age) AS a FROM people GROUP BY sex HAVING sex IN ('F', 'M')",
    "SELECT region, SUM(income) AS s FROM people GROUP BY region HAVING region IS NULL",
    "SELECT married, COUNT(*) AS n FROM people GROUP BY married HAVING married",
    "SELECT married, SUM(age) AS s FROM people GROUP BY married HAVING NOT married",
    "SELECT married, COUNT(*) AS n FROM people GROUP BY married HAVING n > 300 OR NOT (married)",
    "SELECT sex AS region, region AS sex, COUNT(*) AS n FROM people GROUP BY sex, region"
    " HAVING sex = 'F' ORDER BY 1, 2 NULLS LAST",
    "SELECT p.sex, AVG(p.age) AS a FROM people AS p GROUP BY p.sex ORDER BY a DESC",
    "SELECT 3 AS three, sex, AVG(age) AS a FROM people GROUP BY sex",
    "SELECT region, SUM(age) AS age FROM people GROUP BY region ORDER BY age",
    "SELECT children, COUNT(*) AS n FROM people GROUP BY children ORDER BY n * -1, 1"
    " LIMIT 3",
    "SELECT children AS c, COUNT(*) AS n FROM people GROUP BY c ORDER BY c DESC LIMIT 4",
    "SELECT children, married, COUNT(*) AS n FROM people GROUP BY 2, 1 ORDER BY 1, 2",
    "SELECT married, SUM(age) AS s FROM people"
    " GROUP BY married, CASE WHEN age > 90 THEN 1 ELSE 0 END ORDER BY s",
)
"""Questions whose answers are arranged, named and limited."""

KEYS = ("", "sex", "region", "married", "sex, region")


def list_questions() -> list[str]:
    """Every condition, every aggregate by every key, and some of all together."""
    questions = [
        f"SELECT COUNT(*), SUM(children) FROM people WHERE {condition}"
        for condition in CONDITIONS
    ]
    for aggregate, keys in product(AGGREGATES, KEYS):
        head = f"{keys}, " if keys else ""
        tail = f" GROUP BY {keys}" if keys else ""
        questions.append(f"SELECT {head}{aggregate} FROM people{tail}")
    for expression, keys in product(EXPRESSIONS, ("", "sex")):
        head = f"{keys}, " if keys else ""
        tail = f" GROUP BY {keys}" if keys else ""
        questions.append(f"SELECT {head}{expression} AS y, COUNT(*) FROM people{tail}")
    for key in EXPRESSION_KEYS:
        questions.append(
            f"SELECT {key} AS k, COUNT(*), AVG(age) FROM people GROUP BY k"
        )
        questions.append(f"SELECT sex, {key}, SUM(income) FROM people GROUP BY 1, 2")
    for keys in ("age", "children", "married, children"):
        questions.append(
            f"SELECT {keys}, COUNT(*), SUM(income) FROM people GROUP BY {keys}"
        )
    for key in ("FLOOR(age / 10)", "FLOOR(income / 25000) * 25000", "YEAR(born)"):
        questions.append(
            f"SELECT {key} AS k, COUNT(*), AVG(age) FROM people GROUP BY {key}"
        )
    questions.append(
        "SELECT FLOOR(weight / 20), sex, COUNT(*) FROM people GROUP BY 1, 2 ORDER BY 1"
    )
    for number, (condition, aggregate) in enumerate(product(CONDITIONS, AGGREGATES)):
        if number % 19 == 0:
            questions.append(
                f"SELECT sex, {aggregate} AS y FROM people WHERE {condition} GROUP BY sex"
            )
    return questions


REFUSED_QUESTIONS = (
    "SELECT * FROM people",
    "SELECT age FROM people",
    "SELECT age FROM people GROUP BY age",
    "SELECT MIN(age) FROM people",
    "SELECT MAX(income) FROM people",
    "SELECT COUNT(*) FROM people UNION SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people JOIN others ON people.id = others.id",
    "SELECT COUNT(*) FROM people, others",
    "SELECT COUNT(*) FROM (SELECT * FROM people LIMIT 5)",
    "SELECT COUNT(*) OVER () FROM people",
    "SELECT SUM(COUNT(*)) FROM people",
    "SELECT COUNT(*) FROM people WHERE income / (age - 93) >= 0",
    "SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people)",
    "SELECT COUNT(*) FROM people WHERE RANDOM() < 0.5",
    "SELECT COUNT(*) FROM people WHERE age LIKE '1%'",
    "SELECT COUNT(*) FROM people WHERE sex LIKE region",
    "SELECT COUNT(*) FROM people GROUP BY FLOOR(income / 0)",
    "SELECT COUNT(*) FROM people GROUP BY FLOOR(income / 0.001)",
    "SELECT COUNT(*) FROM people GROUP BY age % 10",
    "SELECT COUNT(*) FROM people WHERE YEAR(born) = 99999",
    "SELECT COUNT(*) FROM people WHERE YEAR(age) = 1980",
    "SELECT COUNT(*) FROM people GROUP BY YEAR(age)",
    "SELECT COUNT(*) FROM people WHERE sex > 'F'",
    "SELECT COUNT(*) FROM people WHERE sex = 'Q'",
    "SELECT COUNT(*) FROM people WHERE age = 'old'",
    "SELECT COUNT(*) FROM people WHERE nothing = 3",
    "SELECT COUNT(*) FROM people WHERE age > (SELECT 3)",
    "SELECT SUM(sex) FROM people",
    "SELECT AVG(born) FROM people",
    "SELECT SUM(age * income) FROM people",
    "SELECT SUM(age + income) FROM people",
    "SELECT SUM(SUM(age)) + 1 FROM people",
    "SELECT SUM(age / 0) FROM people",
    "SELECT RANDOM() * COUNT(*) FROM people",
    "SELECT COUNT(*) + age FROM people",
    "SELECT POWER(COUNT(*), AVG(age)) FROM people",
    "SELECT COALESCE(AVG(age), 0) FROM people",
    "SELECT MEDIAN(age) - AVG(age) FROM people",
    "SELECT 'a label', COUNT(*) FROM people",
    "SELECT 3 FROM people",
    "SELECT CASE WHEN COUNT(*) > 3 THEN 1 ELSE 0 END FROM people",
    "SELECT CASE WHEN age > 90 THEN 1 ELSE 0 END FROM people",
    "SELECT sex, COUNT(*) FROM people GROUP BY CASE WHEN age > 1 THEN sex ELSE 'a' END",
    "SELECT COUNT(*) FROM people GROUP BY CASE WHEN age > 1 THEN weight END",
    "SELECT COUNT(*) FROM people GROUP BY CAST(weight AS INTEGER)",
    "SELECT VARIANCE(CASE WHEN age > 1 THEN 1 ELSE 0 END) FROM people",
    "SELECT SUM(DISTINCT age) FROM people",
    "SELECT COUNT(DISTINCT age, sex) FROM people",
    "SELECT TOP 5 sex, COUNT(*) FROM people GROUP BY sex LIMIT 3",
    "SELECT TOP 5 sex, AVG(age) FROM people GROUP BY age ORDER BY age",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex ORDER BY region",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex HAVING region = 'North'",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING n",
    f"SELECT {'-' * 60}COUNT(*) FROM people",
    f"SELECT {'ABS(' * 60}COUNT(*){')' * 60} FROM people",
    "SELECT DISTINCT sex, COUNT(*) FROM people GROUP BY sex",
    "SELECT sex, COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*)",
    "INSERT INTO people VALUES (1)",
    "DROP TABLE people",
    "COPY people TO 'x.csv'",
    "PRAGMA database_list",
    "WITH x AS (SELECT * FROM people LIMIT 5) SELECT COUNT(*) FROM x",
    "SELECT COUNT(*) FROM people GROUP BY ROLLUP (sex)",
    "SELECT COUNT(*) FROM people TABLESAMPLE 10%",
    "SELECT COUNT(*) FROM people QUALIFY TRUE",
    "SELECT COUNT(*) FROM people LIMIT -1",
    "SELECT COUNT(*) FROM people LIMIT 1 OFFSET 1",
    "SELECT COVAR_SAMP(age, age) FROM people",
    "SELECT VAR_POP(age) FROM people",
    "SELECT getenv('HOME'), COUNT(*) FROM people",
    "SELECT STRING_AGG(sex, ',') FROM people",
    "SELECT ARG_MAX(age, income) FROM people",
    "",
    ";",
    "SELECT",
    "not SQL at all",
    "SELECT COUNT(*) FROM people WHERE",
    "SELECT income, COUNT(*) FROM people GROUP BY income",
)
