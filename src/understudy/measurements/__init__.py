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

__all__ = [
    "AxisMap",
    "Centring",
    "Clique",
    "Distance",
    "EstimateDistance",
    "Identity",
    "Measurement",
    "Measurements",
    "Partition",
    "SparseMeasurement",
    "distances_with_estimates",
]
