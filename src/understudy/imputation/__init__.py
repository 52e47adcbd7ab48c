"""Masked tables by multiple imputation: disclosure control without differential privacy.

Columns that could identify a person are replaced by draws from a model of them given
the others, several times over, so that an analyst sees how much the draws differ.
Rubin, "Discussion: statistical disclosure limitation", 1993; Reiter 2003.

This room reads rows without noise. What it makes has no privacy guarantee, and says so.
"""
