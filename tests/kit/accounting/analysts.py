"""Many processes that ask in one run of questions, under the names of a few analysts
with limits; prints how many units each analyst was answered. Run as a program.

With `mutant` each process looks at the statement of its analyst before it pays, and pays
as the owner: the mistake that a crowd must find.
"""

import json
import os
import random
import sys
from fractions import Fraction

from understudy.accounting.chain import digest_of
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger import Ledger
from understudy.accounting.questions.question_run import open_questions
from understudy.errors import BudgetExceeded

UNIT = Fraction(1, 10**9)


def pay(ledger, run, analyst, units, honest):
    cost = Cost(Accounting.PURE, units * UNIT)
    digest = digest_of([analyst, units])
    if honest:
        return run.charge(cost, digest, analyst=analyst)
    mine = next(one for one in ledger.statements() if one.analyst == analyst)
    answered = sum(
        e.facts["amount"] == str(cost.amount)
        and e.analyst == ""
        and e.facts["purpose"] == analyst
        for e in ledger.entries()
        if e.kind == "charge"
    )
    if (answered + 1) * cost.amount > mine.limit.epsilon:
        raise BudgetExceeded
    return run.charge(cost, digest, purpose=analyst)


def ask(path, analyst, honest):
    """Units this process was answered before the first refusal of a single unit."""
    given, most, chance = 0, 3 if honest else 1, random.Random(os.getpid())
    with Ledger.open(path) as ledger:
        run = open_questions(ledger)
        while most:
            units = chance.randint(1, most)
            try:
                step = pay(ledger, run, analyst, units, honest)
                run.store(step, digest_of([analyst, units]), b"noisy")
                given += units
            except BudgetExceeded:
                most = units - 1  # smaller bites until not one unit is left
    return given


def main(path, people, analysts, honest):
    gate_out, gate_in = os.pipe()
    results_out, results_in = os.pipe()
    for person in range(people):
        if os.fork() == 0:
            os.close(gate_in)
            os.read(gate_out, 1)  # returns when every process exists
            analyst = f"a{person % analysts}"
            line = f"{analyst} {ask(path, analyst, honest)}\n"
            os.write(results_in, line.encode())
            os._exit(0)
    os.close(gate_in)
    os.close(results_in)
    codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(people)]
    given = {}
    with os.fdopen(results_out) as results:
        for line in results:
            analyst, units = line.split()
            given[analyst] = given.get(analyst, 0) + int(units)
    print(json.dumps({"given": given, "codes": codes}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "honest")
