"""Junction trees: their growth, calibration, contraction and elimination."""
