"""Privacy loss distributions that judge accountants: optimistic, so a lower bound."""

import math

from dp_accounting.pld.privacy_loss_distribution import (
    from_gaussian_mechanism,
    from_two_probability_mass_functions,
)


def gaussian(mu_squared):
    return from_gaussian_mechanism(
        float(mu_squared) ** -0.5,
        pessimistic_estimate=False,
        value_discretization_interval=1e-3,
        use_connect_dots=False,
    )


def randomised_response(epsilon):
    likely = 1 / (1 + math.exp(-float(epsilon)))
    masses = {1: math.log(likely), 0: math.log(1 - likely)}
    return from_two_probability_mass_functions(
        masses,
        {1: masses[0], 0: masses[1]},
        pessimistic_estimate=False,
        value_discretization_interval=1e-3,
        symmetric=True,
    )
