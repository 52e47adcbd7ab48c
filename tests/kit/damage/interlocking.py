"""Schemas of up to several hundred rules that tie their columns to each other; the same
seed is the same schema.

Each family is a kind of constraint problem whose rules are cheap to write and may be
expensive to keep together: some have a row that keeps every rule, some have none, and
for some nobody can say without a long search.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Words = dict[str, Any]


def integer_column(largest: int, bins: int | None = None) -> Words:
    words: Words = {"type": "integer", "min": 0, "max": largest, "nullable": False}
    return words if bins is None else words | {"bins": bins}


def label_column(labels: int, *, nullable: bool = False) -> Words:
    values = [f"v{i}" for i in range(labels)]
    return {"type": "categorical", "values": values, "nullable": nullable}


def schema_of(columns: dict[str, Words], rules: list[Any]) -> Words:
    return {"columns": columns, "rules": rules}


def name_columns(count: int, column: Words) -> dict[str, Words]:
    return {f"c{i}": column for i in range(count)}


def chain(rng: random.Random, rules: int) -> Words:
    """c0 <= c1 <= c2 …: kept by few of the rows that are drawn at random."""
    columns = name_columns(rules + 1, integer_column(rng.choice((99, 9999, 10**9))))
    return schema_of(columns, [f"c{i} <= c{i + 1}" for i in range(rules)])


def strict_cycle(rng: random.Random, rules: int) -> Words:
    """c0 < c1 < … < c0: no row keeps all, though any proper part has rows."""
    columns = name_columns(rules, integer_column(rng.choice((rules, 10**6))))
    return schema_of(columns, [f"c{i} < c{(i + 1) % rules}" for i in range(rules)])


def strict_chain(rng: random.Random, rules: int) -> Words:
    """c0 < c1 < …, with just as many values as columns, or one too few."""
    largest = rules - rng.choice((0, 1))
    columns = name_columns(rules + 1, integer_column(largest))
    return schema_of(columns, [f"c{i} < c{i + 1}" for i in range(rules)])


def orders(rng: random.Random, rules: int) -> Words:
    """Random comparisons, most of them along one hidden order."""
    count = max(3, rules // 3)
    columns = name_columns(count, integer_column(rng.choice((99, 10**6))))
    pairs = [sorted(rng.sample(range(count), 2)) for _ in range(rules)]
    against = rng.choice((0.0, 0.02))
    turned = [pair[::-1] if rng.random() < against else pair for pair in pairs]
    return schema_of(columns, [f"c{a} < c{b}" for a, b in turned])


def implications(rng: random.Random, rules: int) -> Words:
    """If one label then another, in a circle and across it."""
    count, labels = max(2, rules // 2), 4
    columns = name_columns(count, label_column(labels, nullable=rng.random() < 0.5))
    made = []
    for i in range(rules):
        one, two = i % count, rng.choice(((i + 1) % count, rng.randrange(count)))
        if one != two:
            says = f"v{rng.randrange(labels)}", f"v{rng.randrange(labels)}"
            made.append(f"if c{one} = '{says[0]}' then c{two} = '{says[1]}'")
    return schema_of(columns, made)


def combinations(rng: random.Random, rules: int) -> Words:
    """Allowed combinations of two or three columns; one hidden row may be in all."""
    count, labels = max(4, rules // 2), 6
    hidden = [rng.randrange(labels) for _ in range(count)]
    keep, made = rng.random() < 0.5, []
    for _ in range(rules):
        some = rng.sample(range(count), rng.choice((2, 3)))
        rows = [[f"v{rng.randrange(labels)}" for _ in some] for _ in range(9)]
        if keep:
            rows.append([f"v{hidden[i]}" for i in some])
        made.append({"columns": [f"c{i}" for i in some], "allowed": rows})
    return schema_of(name_columns(count, label_column(labels)), made)


def clauses(rng: random.Random, rules: int) -> Words:
    """Three-satisfiability about where it is hardest: 4.26 clauses a variable."""
    count = max(4, round(rules / rng.choice((2.0, 4.26, 6.0))))
    made = []
    for _ in range(rules):
        some = rng.sample(range(count), 3)
        tests = [f"c{i} = {rng.choice(('true', 'false'))}" for i in some]
        made.append({"impossible": " and ".join(tests)})
    column = {"type": "boolean", "nullable": False}
    return schema_of(name_columns(count, column), made)


def forbidden_pairs(rng: random.Random, rules: int) -> Words:
    """Random cells of pairs of columns, each forbidden."""
    count, labels = max(3, rules // 8), rng.choice((3, 10))
    columns = name_columns(count, label_column(labels))
    made = []
    for _ in range(rules):
        one, two = rng.sample(range(count), 2)
        test = f"c{one} = 'v{rng.randrange(labels)}' and c{two} != 'v{rng.randrange(labels)}'"
        made.append({"impossible": test})
    return schema_of(columns, made)


def colouring(rng: random.Random, rules: int) -> Words:
    """A graph to colour: neighbours differ. Near 2.35 edges a node it is hard."""
    count = max(4, round(rules / rng.choice((1.5, 2.35, 3.5))))
    edges = [rng.sample(range(count), 2) for _ in range(rules)]
    columns = name_columns(count, label_column(3))
    return schema_of(columns, [f"c{a} != c{b}" for a, b in edges])


def pigeons(rng: random.Random, rules: int) -> Words:
    """All columns differ, with one value too few: no short proof by search."""
    count = max(3, int((2 * rules) ** 0.5))
    columns = name_columns(count, label_column(count - rng.choice((0, 1))))
    pairs = [(a, b) for a in range(count) for b in range(a)]
    return schema_of(columns, [f"c{a} != c{b}" for a, b in pairs])


def maps(rng: random.Random, rules: int) -> Words:
    """Each column determines the next, and a few determine one before."""
    count, labels = rules + 1, rng.choice((4, 40))
    columns = name_columns(count, label_column(labels))
    made = []
    for i in range(rules):
        back = rng.random() < 0.1
        target = rng.randrange(count) if back else i + 1
        if target != i:
            table = {f"v{k}": f"v{rng.randrange(labels)}" for k in range(labels)}
            made.append({"from": f"c{i}", "to": f"c{target}", "map": table})
    return schema_of(columns, made)


def sums(rng: random.Random, rules: int) -> Words:
    """Totals of totals: each column is the sum of two before it."""
    columns = name_columns(rules + 2, integer_column(rng.choice((99, 10**6))))
    made = []
    for i in range(rules):
        one, two = rng.sample(range(i + 2), 2) if i else (0, 1)
        made.append(f"c{one} + c{two} = c{i + 2}")
    return schema_of(columns, made)


def wide_sums(rng: random.Random, rules: int) -> Words:
    """Long sums over the same columns."""
    columns = name_columns(60, integer_column(10**6))
    made = []
    for _ in range(rules):
        some = rng.sample(range(60), rng.choice((5, 40)))
        weights = " + ".join(f"{rng.randint(1, 9)} * c{i}" for i in some)
        made.append(f"{weights} <= {rng.choice((10**4, 10**6, 10**7))}")
    return schema_of(columns, made)


def large_bins(rng: random.Random, rules: int) -> Words:
    """Columns of 100,000 bins in an order, too many pairs of cells for a table."""
    columns = name_columns(5, integer_column(10**6, bins=rng.choice((50_000, 100_000))))
    made = []
    for _ in range(rules):
        a, b = rng.sample(range(5), 2)
        made.append(f"c{min(a, b)} + {rng.randrange(50)} <= c{max(a, b)}")
    return schema_of(columns, made)


def long_conditions(rng: random.Random, rules: int) -> Words:
    """Conditions of many tests each, about all columns at once."""
    columns = name_columns(30, integer_column(99))
    made = []
    for _ in range(rules):
        tests = [f"c{rng.randrange(30)} < {rng.randrange(1, 99)}" for _ in range(20)]
        made.append(" or ".join(tests[:10]) + " and " + " and ".join(tests[10:12]))
    return schema_of(columns, made)


def mixture(rng: random.Random, rules: int) -> Words:
    """Rules of every kind over the same columns of labels and numbers."""
    columns = {f"c{i}": integer_column(99) for i in range(20)}
    columns |= {f"d{i}": label_column(5, nullable=True) for i in range(20)}
    made: list[Any] = []
    for _ in range(rules):
        one, two = rng.sample(range(20), 2)
        label, other = f"v{rng.randrange(5)}", f"v{rng.randrange(5)}"
        made.append(
            rng.choice((
                f"c{one} <= c{two}",
                f"if d{one} = '{label}' then c{two} < {rng.randrange(20, 99)}",
                f"if c{one} > {rng.randrange(50, 99)} then d{two} = '{label}'",
                {"impossible": f"d{one} = '{label}' and d{two} = '{other}'"},
                {"from": f"d{one}", "to": f"d{two}", "map": {label: other}},
            ))
        )  # fmt: skip
    return schema_of(columns, made)


Family = Callable[[random.Random, int], Words]
FAMILIES: tuple[Family, ...] = (
    chain,
    strict_cycle,
    strict_chain,
    orders,
    implications,
    combinations,
    clauses,
    forbidden_pairs,
    colouring,
    pigeons,
    maps,
    sums,
    wide_sums,
    large_bins,
    long_conditions,
    mixture,
)
RULE_COUNTS = (5, 20, 60, 150, 400)


def interlocking_schema(seed: int) -> Words:
    """One schema: the families in turn, with every number of rules."""
    rng = random.Random(f"interlocking {seed}")
    return FAMILIES[seed % len(FAMILIES)](rng, rng.choice(RULE_COUNTS))
