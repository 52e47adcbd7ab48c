"""Layers: each expression is computed once, where those that use it can see it."""

from __future__ import annotations

import duckdb

from understudy.tables.sql.let_columns import QueryLayers


def test_results_build_on_results():
    layers = QueryLayers()
    a = layers.read("x0 + 1")
    b = layers.read(f"{a} * {a}")
    assert layers.read("x0 + 1") == a
    query = layers.query("(SELECT 2 AS x0, 5 AS x1)", [f"{b} + x1", f"{a}"])
    assert duckdb.connect().execute(query).fetchall() == [(14, 3)]
    assert query.count("x0 + 1") == 1


def test_what_a_text_says_is_no_name():
    layers = QueryLayers()
    a = layers.read("upper('c0 x9 it''s c7')")
    assert duckdb.connect().execute(
        layers.query("(SELECT 1 AS x0)", [a])
    ).fetchall() == [("C0 X9 IT'S C7",)]


def test_unused_results_are_not_computed():
    layers = QueryLayers()
    layers.read("error('never')")
    kept = layers.read("x0")
    assert duckdb.connect().execute(
        layers.query("(SELECT 1 AS x0)", [kept])
    ).fetchall() == [(1,)]
