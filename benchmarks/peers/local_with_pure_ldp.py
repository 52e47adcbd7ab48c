"""Mean squared errors of pure-LDP's frequency oracles; run by benchmarks/local.py.

pip install pure-ldp scikit-learn statsmodels "xxhash<4"    in an environment of its own
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

Pair = Callable[[float, int], tuple[Any, Any]]

ORACLES: dict[str, Pair] = {
    "krr": lambda e, d: (DEClient(e, d), DEServer(e, d)),
    "sue": lambda e, d: (UEClient(e, d), UEServer(e, d)),
    "oue": lambda e, d: (UEClient(e, d, use_oue=True), UEServer(e, d, use_oue=True)),
    "olh": lambda e, d: (LHClient(e, d, use_olh=True), LHServer(e, d, use_olh=True)),
}


def measure_error(make: Pair, job: dict[str, Any]) -> float:
    values = np.array(job["values"])
    shares = np.bincount(values, minlength=job["size"]) / len(values)
    squares = []
    for _ in range(job["runs"]):
        client, server = make(job["epsilon"], job["size"])
        # Its values count from one.
        for value in values + 1:
            server.aggregate(client.privatise(int(value)))
        found = server.estimate_all(
            list(range(1, job["size"] + 1)), suppress_warnings=True
        )
        squares.append(((np.array(found) / len(values) - shares) ** 2).mean())
    return float(np.mean(squares))


if __name__ == "__main__":
    job = json.load(sys.stdin)
    print(
        json.dumps({name: measure_error(make, job) for name, make in ORACLES.items()})
    )
