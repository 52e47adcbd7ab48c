"""One module per algorithm; `base` holds the contract, `check` the conformance suite."""

from dataclasses import fields

from understudy.errors import Refused
from understudy.synthesizers.aim import AIM
from understudy.synthesizers.base import Awareness, Curator, Progress, Synthesizer, Workload, silent
from understudy.synthesizers.datasynthesizer import DataSynthesizer
from understudy.synthesizers.gaussian import Gaussian
from understudy.synthesizers.histogram import Histogram
from understudy.synthesizers.independent import Independent
from understudy.synthesizers.mst import MST
from understudy.synthesizers.mwem import MWEM
from understudy.synthesizers.mwem_pgm import MWEMPGM
from understudy.synthesizers.privbayes import PrivBayes
from understudy.synthesizers.privmrf import PrivMRF
from understudy.synthesizers.privsyn import PrivSyn
from understudy.synthesizers.random import Random
from understudy.synthesizers.residual import Residual
from understudy.synthesizers.stability import Stability

SYNTHESIZERS: dict[str, type[Synthesizer]] = {
    cls.name: cls
    for cls in (
        Random,
        Independent,
        Histogram,
        Stability,
        MST,
        Gaussian,
        Residual,
        MWEMPGM,
        PrivBayes,
        DataSynthesizer,
        MWEM,
        PrivSyn,
        AIM,
        PrivMRF,
    )
}
"""Every algorithm by its name."""


def make(name: str, **options: object) -> Synthesizer:
    """A synthesizer by name, with its options.

    >>> make("independent", equal=True)
    Independent(equal=True)
    """
    if name not in SYNTHESIZERS:
        raise Refused(f'There is no synthesizer "{name}". Choose one of {", ".join(SYNTHESIZERS)}. Nothing was spent')
    known = [field.name for field in fields(SYNTHESIZERS[name])]
    unknown = sorted(set(options) - set(known))
    if unknown:
        remedy = f"It has {', '.join(known)}" if known else "It has none"
        raise Refused(f'{name}: there is no option "{unknown[0]}". {remedy}. Nothing was spent')
    return SYNTHESIZERS[name](**options)


__all__ = [
    "AIM",
    "MST",
    "MWEM",
    "MWEMPGM",
    "SYNTHESIZERS",
    "Awareness",
    "Curator",
    "DataSynthesizer",
    "Gaussian",
    "Histogram",
    "Independent",
    "PrivBayes",
    "PrivMRF",
    "PrivSyn",
    "Progress",
    "Random",
    "Residual",
    "Stability",
    "Synthesizer",
    "Workload",
    "make",
    "silent",
]
