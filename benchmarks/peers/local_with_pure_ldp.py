"""Mean squared errors of pure-LDP's frequency oracles; run by benchmarks/local.py.

pip install pure-ldp scikit-learn statsmodels "xxhash<4"    in an environment of its own
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

Pair = Callable[[float, int], tuple[Any, Any]]


def make_sketch(epsilon: float, rows: int, width: int, is_hadamard: bool) -> Any:
    server = CMSServer(epsilon, rows, width, is_hadamard=is_hadamard)
    return CMSClient(epsilon, server.get_hash_funcs(), width, is_hadamard), server


ORACLES: dict[str, Pair] = {
    "krr": lambda e, d: (DEClient(e, d), DEServer(e, d)),
    "sue": lambda e, d: (UEClient(e, d), UEServer(e, d)),
    "oue": lambda e, d: (UEClient(e, d, use_oue=True), UEServer(e, d, use_oue=True)),
    "olh": lambda e, d: (LHClient(e, d, use_olh=True), LHServer(e, d, use_olh=True)),
}
SKETCHES = {"cms": False, "hcms": True}


def measure_sketch_error(is_hadamard: bool, job: dict[str, Any]) -> float:
    counts = np.bincount(job["values"], minlength=job["size"])
    shares = counts / len(job["values"])
    squares = []
    for run in range(job["runs"]):
        client, server = make_sketch(
            job["epsilon"], job["rows"], job["width"], is_hadamard
        )
        # Its hash functions are the same in every run: other names, other collisions.
        names = [f"{run}/{place}" for place in range(job["size"])]
        for value in job["values"]:
            server.aggregate(client.privatise(names[value]))
        found = [server.estimate(name, suppress_warnings=True) for name in names]
        squares.append(((np.array(found) / len(job["values"]) - shares) ** 2).mean())
    return float(np.mean(squares))


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
    errors = {name: measure_error(make, job) for name, make in ORACLES.items()}
    for name, is_hadamard in SKETCHES.items():
        errors[name] = measure_sketch_error(is_hadamard, job)
    print(json.dumps(errors))
