"""A child that answers questions from a ledger is killed at random moments, over and
over; prints what was found. Run as a program.

`honest` charges, draws, stores and then answers. `mutant` answers first and charges
afterwards: the loop must find it out. Every other child opens the ledger by a symbolic
link. The file alone is copied as `cp` does, while the child runs and again when it is
dead: a copy holds every answer that was given before, or is refused as damaged.
"""

import json
import os
import random
import select
import shutil
import signal
import sys
import time
from fractions import Fraction
from pathlib import Path

from understudy.accounting.budget import Budget
from understudy.accounting.chain import digest_of
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger import Ledger
from understudy.accounting.questions.question_run import open_questions
from understudy.errors import LedgerError

COST = Cost(Accounting.PURE, Fraction(1, 10**6))
BUDGET = Budget(Fraction(1, 100), Fraction(0))


def answer_for_ever(path, out, honest):
    """The life of one child: a run, then step after step until it is killed."""
    with Ledger.open(path) as ledger:
        run = ledger.reserve(BUDGET, event="killed")
        for step in range(10_000):
            digest, payload = digest_of(["step", step]), os.urandom(8)
            line = f"{run.id} {step} {payload.hex()}\n".encode()
            if not honest:
                os.write(out, line)
            run.charge(step, COST, digest)
            if honest:
                run.store(step, digest, payload)
                os.write(out, line)


def ask_for_ever(path, out, honest):
    """The same in a run of questions that all children share, under a limit."""
    with Ledger.open(path) as ledger:
        run = open_questions(ledger, BUDGET)
        while True:
            payload = os.urandom(8)
            digest = digest_of(["question", payload.hex()])
            if not honest:
                os.write(out, f"{run.id} -1 {payload.hex()}\n".encode())
            step = run.charge(COST, digest, analyst="ada")
            if honest:
                run.store(step, digest, payload)
                os.write(out, f"{run.id} {step} {payload.hex()}\n".encode())


def kill_one(path, honest, chance, sign, live=answer_for_ever):
    """What one child said before it was killed, and how much of that before a copy was
    taken.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            live(path, write, honest)
        finally:
            os._exit(0)
    os.close(write)
    if (
        sign == signal.SIGINT or chance.random() < 0.8
    ):  # mostly while answering, sometimes while opening or reserving
        select.select([read], [], [], 5)
    time.sleep(chance.uniform(0, 0.012))
    os.set_blocking(read, False)
    early = b""
    while select.select([read], [], [], 0)[0] and (more := os.read(read, 2**16)):
        early += more
    os.set_blocking(read, True)
    copy_alone(path)
    os.kill(child, sign)
    while os.waitpid(child, os.WNOHANG) == (
        0,
        0,
    ):  # an interrupt may land where the interpreter drops it: press again
        time.sleep(0.002)
        os.kill(child, sign)
    with os.fdopen(read, "rb") as rest:
        said = (early + rest.read()).decode().splitlines(keepends=True)
    return [line.split() for line in said if line.endswith("\n")], early.count(b"\n")


def copy_alone(path):
    """The file and nothing that lies beside it."""
    shutil.copyfile(path, path.with_suffix(".copy"))


def check_copy(path, said, found):
    """Count the answers that a copy does not know, or that it was refused."""
    copy = path.with_suffix(".copy")
    try:
        with Ledger.open(copy) as ledger:
            stored = {
                (e.run, str(e.step)) for e in ledger.entries() if e.kind == "answer"
            }
        found["copies"] += 1
        found["forgotten"] += sum((name, step) not in stored for name, step, _ in said)
    except LedgerError:
        found["torn"] += 1
    for left in path.parent.glob(f"{copy.name}*"):
        left.unlink()


def kill_askers(folder, kills, honest):
    """Children that ask in one shared run: every answer was paid for by the run and by
    the analyst, and is recalled as it was given.
    """
    chance = random.Random(7)
    path = Path(folder, "asked.ledger")
    with Ledger.create(path, dataset="killed") as ledger:
        ledger.grant(BUDGET, analyst="ada")
        open_questions(ledger, BUDGET)
    found = dict.fromkeys(["answers", "unpaid", "changed", "paid_not_answered"], 0)
    for _ in range(kills):
        said, _ = kill_one(path, honest, chance, signal.SIGKILL, ask_for_ever)
        copy_alone(path)
        path.with_suffix(".copy").unlink()
        with Ledger.open(path) as ledger:  # checks what the run and ada have spent
            run = open_questions(ledger)
            charged = {
                e.facts["request"] for e in ledger.entries() if e.kind == "charge"
            }
            stored = sum(e.kind == "answer" for e in ledger.entries())
            found["paid_not_answered"] = len(charged) - stored
            for _, _, payload in said:
                digest = digest_of(["question", payload])
                found["answers"] += 1
                found["unpaid"] += digest not in charged
                kept = [
                    answer.payload.hex() for answer in run.recall(digest, analyst="ada")
                ]
                found["changed"] += kept != [payload]
    print(json.dumps(found))


def main(folder, kills, honest, sign):
    chance = random.Random(7)
    counted = (
        "answers unpaid changed paid_not_answered replayed lost copies forgotten torn"
    )
    found = dict.fromkeys(counted.split(), 0)
    for kill in range(kills):
        path = Path(folder, f"{kill // 10}.ledger")
        if kill % 10 == 0:
            Ledger.create(path, dataset="killed").close()
            path.with_suffix(".link").symlink_to(path)
        said, early = kill_one(
            path.with_suffix(".link") if kill % 2 else path, honest, chance, sign
        )
        if honest:
            check_copy(path, said[:early], found)
            copy_alone(path)
            check_copy(path, said, found)
        with Ledger.open(
            path
        ) as ledger:  # opening checks the chain, the totals and every stored answer
            charged = {(e.run, e.step) for e in ledger.entries() if e.kind == "charge"}
            runs = {run.id: run for run in ledger.runs()}
            found["lost"] += ledger.totals().epsilon != sum(
                run.budget.epsilon for run in runs.values()
            )
            for name, step, payload in said:
                found["answers"] += 1
                found["unpaid"] += name not in runs or (name, int(step)) not in charged
                if honest:  # the same question after the crash: the stored answer, and no new spend
                    again = ledger.resume(name).answer(
                        int(step), digest_of(["step", int(step)])
                    )
                    found["changed"] += again != bytes.fromhex(payload)
                    found["replayed"] += 1
            if said:
                mine = {step for name, step in charged if name == said[0][0]}
                found["paid_not_answered"] += len(mine) > len(said)
    print(json.dumps(found))


if __name__ == "__main__":
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background jobs ignore it
    folder, kills, honest = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "honest"
    if sys.argv[4] == "questions":
        kill_askers(folder, kills, honest)
    else:
        main(folder, kills, honest, signal.Signals[sys.argv[4]])
