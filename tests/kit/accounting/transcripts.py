"""All transcripts of an adaptive interaction with randomised response, and what a filter
lets them reveal.

An adversary sees each answer and chooses the ε of the next question; a filter admits it
or ends the interaction. Both probabilities of every transcript are computed, so δ at an ε
is exact.
"""

import copy
import math


def revealed_delta(filter, cost_of, strategy, epsilon, depth):
    """δ at this ε of the whole interaction; `strategy` maps the privacy loss so far and
    the number of questions to the next ε, `cost_of` an ε to what the filter admits.
    """

    def walk(filter, loss, here, there, step):
        asked = strategy(loss, step)
        if step == depth or not filter.admits(cost_of(asked)):
            return max(0.0, here - math.exp(epsilon) * there)
        after = copy.copy(filter)
        after.admit(cost_of(asked))
        e = float(asked)
        likely = math.exp(e) / (1 + math.exp(e))
        return walk(after, loss + e, here * likely, there * (1 - likely), step + 1) + (
            walk(after, loss - e, here * (1 - likely), there * likely, step + 1)
        )

    return walk(filter, 0.0, 1.0, 1.0, 0)


def strategies(sizes):
    """Adversaries: steady ones, one that bets more when it is ahead, one when it is
    behind, and ones that mix large and small questions.
    """
    small, large = sizes

    def steady_small(loss, step):
        return small

    def steady_large(loss, step):
        return large

    def bold_when_ahead(loss, step):
        return large if loss > 0 else small

    def bold_when_behind(loss, step):
        return large if loss < 0 else small

    def alternate(loss, step):
        return large if step % 2 else small

    return [steady_small, steady_large, bold_when_ahead, bold_when_behind, alternate]
