"""Many processes that spend from one ledger until it is empty; prints what each was
given. Run as a program.

The ledger may be given under several names, with colons between: each process takes one
of them.

With a fourth number the ledger has no cap, and each process looks at the total before
it spends: the mistake a crowd must find.
"""

import json
import os
import random
import sys
from fractions import Fraction

from understudy.accounting.budget import Budget
from understudy.accounting.ledger import Ledger
from understudy.errors import BudgetExceeded


def spend(path, most, looked_at):
    """Units this process was granted before the first refusal of a single unit."""
    given, chance = 0, random.Random(os.getpid())
    with Ledger.open(path) as ledger:
        while True:
            units = chance.randint(1, most)
            try:
                if looked_at is not None and ledger.totals().epsilon + Fraction(
                    units, 10**9
                ) > Fraction(looked_at, 10**9):
                    raise BudgetExceeded
                ledger.reserve(
                    Budget(Fraction(units, 10**9), Fraction(0)),
                    event="crowd",
                    analyst=str(os.getpid()),
                )
                given += units
            except BudgetExceeded:
                most = units - 1  # smaller bites until not one unit is left
                if most == 0:
                    break
    return given


def main(paths, people, most, looked_at=None):
    names = paths.split(":")
    gate_out, gate_in = os.pipe()
    results_out, results_in = os.pipe()
    for person in range(people):
        if os.fork() == 0:
            os.close(gate_in)
            os.read(gate_out, 1)  # returns when every process exists
            os.write(
                results_in,
                f"{spend(names[person % len(names)], most, looked_at)}\n".encode(),
            )
            os._exit(0)
    os.close(gate_in)
    os.close(results_in)
    codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(people)]
    with os.fdopen(results_out) as results:
        print(json.dumps({"given": [int(line) for line in results], "codes": codes}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
