"""Threads of the linear algebra library, of which small matrices use one.

More threads gain little on them even on an idle machine, and on a busy one they wait for
each other: masking took fifteen times the processor seconds there, and an interval from
a release thirteen times.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

MIN_THREADED_PRODUCTS = 1e9
"""Multiplications in a product of matrices from which it is shared among threads: one of
them takes a tenth of a second, far longer than they wait for each other.
"""


def use_threads_for(products: float) -> AbstractContextManager[Any]:
    """A context in which matrix products of this size use one thread unless more pay."""
    return nullcontext() if products >= MIN_THREADED_PRODUCTS else use_one_thread()


def use_one_thread() -> AbstractContextManager[Any]:
    """Within it matrices are multiplied by one thread, where threadpoolctl is installed,
    which comes with scikit-learn.
    """
    controller = _find_libraries()
    if controller is None:
        return nullcontext()
    context: AbstractContextManager[Any] = controller.limit(limits=1, user_api="blas")
    return context


@cache
def _find_libraries() -> Any:
    """What limits the libraries that are loaded; None without threadpoolctl."""
    # Looking through what the process has loaded takes a while: once is enough, since
    # numpy and scipy have loaded theirs when this module's callers are imported.
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
