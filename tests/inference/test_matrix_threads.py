"""Small matrices are multiplied by one thread, and the library is left as it was."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_info

import understudy as us
from understudy.inference import matrix_threads
from understudy.inference.matrix_threads import (
    MIN_THREADED_PRODUCTS,
    use_one_thread,
    use_threads_for,
)


def count_threads():
    return {part["num_threads"] for part in threadpool_info() if _is_blas(part)}


def _is_blas(part):
    return part["user_api"] == "blas"


def test_one_thread_is_used_within_and_the_others_given_back():
    before = count_threads()
    with use_one_thread():
        assert count_threads() == {1}
    assert count_threads() == before


def test_large_products_keep_their_threads():
    before = count_threads()
    with use_threads_for(MIN_THREADED_PRODUCTS):
        assert count_threads() == before
    with use_threads_for(MIN_THREADED_PRODUCTS - 1):
        assert count_threads() == {1}


def test_copies_are_drawn_without_the_package_that_counts_threads(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    matrix_threads._find_libraries.cache_clear()
    ages = pd.DataFrame({"age": np.arange(50), "sex": ["F", "M"] * 25})
    masked = us.mask(ages, replaced=["age"], method="norm+logit", copies=1, seed=1)
    assert len(masked.frame(0)) == 50
    monkeypatch.undo()
    matrix_threads._find_libraries.cache_clear()
