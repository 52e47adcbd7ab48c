"""Membership: was somebody's row in the table at all?

Three attacks, each a score; people in the table against people who were not.

* `likelihood`: the likelihood of the noisy measurements with and without somebody. No
  attack on anything made from the measurements can do better (Neyman, Pearson), so this
  one is the yardstick.
* `density`: synthetic rows are denser at members than at others (van Breugel et al.,
  "Membership inference attacks against synthetic data through overfitting detection",
  2023; on the measured cliques: Golob et al., "Privacy vulnerabilities in
  marginals-based synthetic data", 2024).
* `shadows`: make the release again and again with and without one person, and learn to
  distinguish the two (Stadler, Oprisanu, Troncoso, "Synthetic data - anonymisation
  groundhog day", 2022). Slow, and weaker than the first.

An (ε, δ)-private release bounds all of them: true positives ≤ e^ε · false positives +
δ.
"""

from understudy.evaluation.risk.membership.density import attack_by_density
from understudy.evaluation.risk.membership.likelihood import attack_by_measurements
from understudy.evaluation.risk.membership.shadows import (
    Codes,
    attack_by_shadows,
    codes_of_table,
    find_rarest_row,
)

__all__ = [
    "Codes",
    "attack_by_density",
    "attack_by_measurements",
    "attack_by_shadows",
    "codes_of_table",
    "find_rarest_row",
]
