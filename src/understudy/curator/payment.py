"""Payments: every answer is paid for here, in one order that a crash cannot change.

    admit (the run's filter)  →  count (exact, may fail)  →  charge (durable)  →  draw
    →  store  →  answer

Refused by the filter, or failed while counting: nothing was charged. Ctrl-C after the
charge waits for the store (interrupts.py). Killed after the charge: it stands and no answer
left the curator. Killed after the store: only resuming the same run, asking the same
question at the same step, gets that stored answer again. No path returns an answer that
was not charged, and none returns a stored answer to a new run.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.accounting.filter import Filter
from understudy.curator.interrupts import hold_signals

NoisyAnswer = dict[str, NDArray[np.generic]]
"""Noisy arrays by name: all that a mechanism may hand back."""

Exact = TypeVar("Exact")
"""What was counted, on its way to the noise."""


class RunProtocol(Protocol):
    """The part of a ledger's run that payments need."""

    def answer(self, step: int, digest: str) -> bytes | None:
        """The answer stored for this step and question, if there is one."""

    def is_lost(self, step: int) -> bool:
        """Whether this step was paid for by an earlier process, which stored no answer."""

    def charge(self, step: int, cost: Cost, digest: str) -> None:
        """Write the charge down durably."""

    def store(self, step: int, digest: str, payload: bytes) -> None:
        """Keep the answer for a resumed run."""


class Payments:
    """Charges for an answer, then lets a mechanism draw it."""

    def __init__(
        self,
        run: RunProtocol,
        filter: Filter,
        *,
        depends_on: str = "",
    ) -> None:
        """`depends_on` names what every answer of the run depends on, such as the schema:
        a run resumed under another one is refused.
        """
        self._run = run
        self._depends_on = depends_on
        self._filter = filter
        self._step = 0
        self.charges: list[tuple[str, Cost]] = []

    @property
    def amount_left(self) -> Fraction:
        """What is left of the run, in its accounting."""
        return self._filter.amount_left

    @property
    def delta_left(self) -> Fraction:
        """What is left of the δ set aside for thresholds."""
        return self._filter.delta_left

    def pay(
        self,
        request: Mapping[str, object],
        cost: Cost,
        count: Callable[[], Exact],
        draw: Callable[[Exact], NoisyAnswer],
    ) -> NoisyAnswer:
        """Count, charge, then draw; `request` states everything the answer depends on
        but the rows and the noise.

        Counting is the part that takes long and can fail, so it comes before the
        charge: what fails there can be asked again for free.
        """
        digest = self._digest_request(request)
        # Steps are counted in memory: a resumed run asks the same questions in the same
        # order, and each finds its own stored answer.
        step = self._step
        self._step = self._step + 1
        self._filter.admit(cost)
        self.charges.append((str(request["mechanism"]), cost))
        stored = self._run.answer(step, digest)
        if stored is not None:
            return _unpack_answer(stored)
        exact = count()
        with hold_signals():
            self._run.charge(step, cost, digest)
            answer = draw(exact)
            self._run.store(step, digest, _pack_answer(answer))
        return answer

    def will_replay(self, request: Mapping[str, object], *, ahead: int = 0) -> bool:
        """Whether this request, asked next or so many steps later, has its answer in the
        ledger.
        """
        digest = self._digest_request(request)
        return self._run.answer(self._step + ahead, digest) is not None

    def is_lost(self, *, ahead: int = 0) -> bool:
        """Whether the next step, or one so many steps later, was paid for by an earlier
        process that was killed before it stored the answer.
        """
        return self._run.is_lost(self._step + ahead)

    def pass_over(self, asked: str, cost: Cost, *, steps: int) -> None:
        """Go on without the answer of some steps, which an earlier process paid for and
        lost: what was paid stays paid, and nothing is drawn.
        """
        self._filter.admit(cost)
        self.charges.append((f"{asked} (the answer was lost)", cost))
        self._step = self._step + steps

    def _digest_request(self, request: Mapping[str, object]) -> str:
        # The key says "context" in ledgers that are resumed: it stays.
        question = {"context": self._depends_on, "request": request}
        text = json.dumps(question, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def fingerprint_array(array: NDArray[np.generic]) -> str:
    """A short name for an array in a request, so that requests stay small.

    >>> zeros = fingerprint_array(np.zeros(3))
    >>> zeros == fingerprint_array(np.zeros(3)), zeros == fingerprint_array(np.ones(3))
    (True, False)
    """
    # Type and shape too: arrays of the same bytes may differ in them.
    kind = f"{array.dtype}{array.shape}".encode()
    return hashlib.sha256(kind + np.ascontiguousarray(array).tobytes()).hexdigest()


def _pack_answer(answer: NoisyAnswer) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **answer)
    return buffer.getvalue()


def _unpack_answer(payload: bytes) -> NoisyAnswer:
    with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
