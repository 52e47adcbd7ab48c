"""Threads of the linear algebra library, of which masking uses one.

Its matrices are small. More threads gain little on an idle machine, and on a busy one
they wait for each other: masking took fifteen times the processor seconds there.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


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
