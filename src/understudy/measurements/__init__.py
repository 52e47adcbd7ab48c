"""What was released: cliques, linear maps, noisy integer values and their cost."""

from understudy.measurements.maps import AxisMap, Centring, Identity, Partition
from understudy.measurements.measurement import (
    Clique,
    Distance,
    EstimateDistance,
    Measurement,
    Measurements,
    SparseMeasurement,
    distances_with_estimates,
)
from understudy.measurements.moments import MomentMeasurement
from understudy.measurements.scope import scope_of_predicate

__all__ = [
    "AxisMap",
    "Centring",
    "Clique",
    "Distance",
    "EstimateDistance",
    "Identity",
    "Measurement",
    "Measurements",
    "MomentMeasurement",
    "Partition",
    "SparseMeasurement",
    "distances_with_estimates",
    "scope_of_predicate",
]
