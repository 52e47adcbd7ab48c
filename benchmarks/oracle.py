"""Masking and its combining rules beside R: `mice::pool.scalar` as an oracle of
`us.combine`, and processor seconds of `rpart` and `mice` on the table of masking.py.

    python benchmarks/oracle.py

Needs R with mice, rpart and nnet (Debian: r-base-core, r-cran-mice, r-cran-rpart,
r-cran-nnet) and says so where they are not there. R fits and draws what masking does:
five times each column given those before it, `cart` from a tree on a bootstrap sample, `norm+logit` by the functions
that mice imputes with, here asked for every cell. Both start from a table in memory; the
time of understudy is that of fitting and drawing, R's that of the same.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from masking import COPIES, make_table

import understudy as us

MAX_RELATIVE_GAP = 1e-9
"""Largest difference between both in a total variance or a degree of freedom."""

PARTS_OF_R = ("mice", "rpart", "nnet")

POOL_PROGRAM = """
suppressMessages(library(mice))
sets <- read.csv(commandArgs(TRUE)[1])
for (s in split(sets, sets$set)) {
  p <- pool.scalar(s$q, s$v, n = Inf, rule = s$rule[1])
  cat(sprintf("%.17g %.17g\\n", p$t, p$df))
}
"""

TIME_PROGRAM = """
suppressMessages(library(mice)); library(rpart)
args <- commandArgs(TRUE)
table <- read.csv(args[1], stringsAsFactors = TRUE)
for (j in names(table)) if (is.numeric(table[[j]])) {
  table[[j]][is.na(table[[j]])] <- mean(table[[j]], na.rm = TRUE)
}
n <- nrow(table); all <- rep(TRUE, n)
set.seed(1)
draw_tree <- function(j, before, copy) {
  rows <- sample(n, n, replace = TRUE)
  kind <- if (is.numeric(table[[j]])) "anova" else "class"
  tree <- rpart(reformulate(before, j), table[rows, c(j, before), drop = FALSE],
    method = kind, control = rpart.control(minbucket = 5, cp = 1e-8, xval = 0,
      maxcompete = 0, maxsurrogate = 0))
  seen <- table[[j]][rows]
  leaf <- tree$where
  # Which leaf a new row falls into: the leaves' numbers stand in for predictions.
  numbered <- tree; numbered$frame$yval <- seq_len(nrow(tree$frame))
  at <- predict(numbered, copy[before], type = "vector")
  donors <- split(seq_along(seen), leaf)
  seen[sapply(as.character(at), function(k) {
    d <- donors[[k]]
    # A label that the bootstrap sample lacks stops above the leaves.
    if (is.null(d)) d <- seq_along(seen)
    d[sample.int(length(d), 1)]
  })]
}
draw_regression <- function(j, before, copy) {
  # Original rows teach, rows of the copy are drawn for.
  x <- model.matrix(~ ., rbind(table[before], copy[before]))[, -1, drop = FALSE]
  y <- c(table[[j]], table[[j]]); ry <- c(all, !all)
  if (is.factor(table[[j]])) {
    drawn <- if (nlevels(y) == 2) mice.impute.logreg(y, ry, x)
      else mice.impute.polyreg(y, ry, x, nnet.MaxNWts = 1e5)
    return(factor(drawn, levels(y)))
  }
  mice.impute.norm(y, ry, x)
}
for (method in c("cart", "norm+logit")) {
  draw <- if (method == "cart") draw_tree else draw_regression
  began <- proc.time()
  for (m in seq_len(as.integer(args[2]))) {
    copy <- table
    copy[[1]] <- sample(table[[1]], n, replace = TRUE)
    for (k in 2:ncol(table)) {
      copy[[k]] <- draw(names(table)[k], names(table)[seq_len(k - 1)], copy)
    }
  }
  spent <- proc.time() - began
  cat(method, sum(spent[c("user.self", "sys.self")]), "\\n")
}
"""


def find_r() -> str | None:
    """The program that runs R, if it has what is needed; says what is missing."""
    program = shutil.which("Rscript")
    if program is None:
        print("R is not there: nothing was compared (Debian: r-base-core, r-cran-mice)")
        return None
    for part in PARTS_OF_R:
        asked = [program, "-e", f"library({part})"]
        if subprocess.run(asked, capture_output=True, check=False).returncode:
            print(f"R has no {part}: nothing was compared (Debian: r-cran-{part})")
            return None
    return program


def run_r(program: str, text: str, *arguments: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.R"
        script.write_text(text, "utf-8")
        done = subprocess.run(
            [program, str(script), *arguments],
            capture_output=True,
            check=True,
            text=True,
        )
    return done.stdout


def compare_rules(program: str, sets: int = 200) -> float:
    """The largest relative gap between both, over random estimates and variances."""
    rng = np.random.default_rng(0)
    parts = []
    for i in range(sets):
        copies = int(rng.choice([2, 3, 5, 20]))
        q, v = rng.normal(1, 1, copies), rng.uniform(0.01, 1, copies)
        rule = "reiter2003" if i % 2 else "rubin1987"
        parts.append(pd.DataFrame({"set": i, "q": q, "v": v, "rule": rule}))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sets.csv"
        pd.concat(parts).to_csv(path, index=False, float_format="%.17g")
        printed = run_r(program, POOL_PROGRAM, str(path))
    gaps = []
    for part, line in zip(parts, printed.splitlines(), strict=True):
        kind = "partial" if part.rule[0] == "reiter2003" else "imputed"
        ours = us.combine(list(zip(part.q, part.v, strict=True)), kind=kind)
        found = (ours.combined.variance, ours.combined.degrees)
        for mine, theirs in zip(found, line.split(), strict=True):
            gaps.append(abs(float(np.squeeze(mine)) / float(theirs) - 1))
    return max(gaps)


def time_ours(method: str) -> float:
    """Processor seconds of fitting and drawing."""
    table = make_table(5_000, 35)
    masked = us.mask(table, full=True, method=method, copies=COPIES, seed=1)
    # Libraries are loaded before the clock starts, as R's are.
    us.mask(table.head(50), full=True, method=method, copies=1, seed=1).draw(0)
    began = time.process_time()
    for i in range(COPIES):
        masked.draw(i)
    return time.process_time() - began


def time_theirs(program: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        make_table(5_000, 35).to_csv(path, index=False)
        printed = run_r(program, TIME_PROGRAM, str(path), str(COPIES))
    lines = (line.split() for line in printed.splitlines() if line.strip())
    return {method: float(seconds) for method, seconds in lines}


def main() -> None:
    program = find_r()
    if program is None:
        return
    gap = compare_rules(program)
    verdict = "agree" if gap < MAX_RELATIVE_GAP else "DIFFER"
    print(f"us.combine and mice::pool.scalar {verdict}: largest gap {gap:.1e}")
    ours = {method: time_ours(method) for method in ("norm+logit", "cart")}
    theirs = time_theirs(program)
    for method, seconds in ours.items():
        print(
            f"5,000 × 35, five copies, {method}: {seconds:.1f} processor seconds,"
            f" R {theirs[method]:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
