"""One module per algorithm: `published` those of the literature, `adaptive` the default.

`base` holds the contract and `options` what can be set; the conformance suite is in
`understudy.testing`.
"""

from understudy.errors import Refused
from understudy.synthesizers.adaptive.adaptive import Adaptive
from understudy.synthesizers.awareness import awareness_rows
from understudy.synthesizers.base import (
    About,
    Awareness,
    CuratorProtocol,
    Progress,
    Synthesizer,
    Workload,
    ignore_progress,
)
from understudy.synthesizers.options import (
    Option,
    options_of,
    read_options,
    suggest_nearest,
)
from understudy.synthesizers.published.aim import AIM
from understudy.synthesizers.published.datasynthesizer import DataSynthesizer
from understudy.synthesizers.published.gaussian import Gaussian
from understudy.synthesizers.published.histogram import Histogram
from understudy.synthesizers.published.independent import Independent
from understudy.synthesizers.published.mst import MST
from understudy.synthesizers.published.mwem import MWEM, error_bound
from understudy.synthesizers.published.mwem_pgm import MWEMPGM
from understudy.synthesizers.published.privbayes import PrivBayes
from understudy.synthesizers.published.privmrf import PrivMRF
from understudy.synthesizers.published.privsyn import PrivSyn
from understudy.synthesizers.published.random import Random
from understudy.synthesizers.published.residual import Residual
from understudy.synthesizers.published.stability import Stability
from understudy.synthesizers.shared.residual_plan import ResidualPlan

SYNTHESIZER_CLASSES: dict[str, type[Synthesizer]] = {
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
        Adaptive,
    )
}
"""Every algorithm by its name."""


def synthesizer_class(name: str) -> type[Synthesizer]:
    """An algorithm by its name.

    >>> synthesizer_class("aim").name
    'aim'
    """
    if name not in SYNTHESIZER_CLASSES:
        near = suggest_nearest(name, SYNTHESIZER_CLASSES)
        raise Refused(
            f'There is no synthesizer "{name}". {near}Choose one of'
            f" {', '.join(SYNTHESIZER_CLASSES)}. Nothing was spent"
        )
    return SYNTHESIZER_CLASSES[name]


def list_synthesizers() -> dict[str, str]:
    """Every algorithm by its name, with one line about it.

    >>> list_synthesizers()["random"]
    'Random rows that fit the schema, at no cost'
    """
    return {name: summarise_class(cls) for name, cls in SYNTHESIZER_CLASSES.items()}


def summarise_class(synthesizer: type[Synthesizer]) -> str:
    """The first sentence of an algorithm's description."""
    first_paragraph, _, _ = (synthesizer.__doc__ or "").partition("\n\n")
    text = " ".join(first_paragraph.split())
    return text.split(". ")[0].rstrip(".")


def make(name: str, /, **options: object) -> Synthesizer:
    """A synthesizer by name, with its options; parts of the budget may be fractions,
    decimals or text.

    >>> make("independent", equal=True)
    Independent(equal=True)
    >>> make("stability", total_share=0.1)
    Stability(total_share=Fraction(1, 10))
    """
    chosen = synthesizer_class(name)
    return chosen(**read_options(chosen, options))


__all__ = [
    "AIM",
    "MST",
    "MWEM",
    "MWEMPGM",
    "SYNTHESIZER_CLASSES",
    "About",
    "Adaptive",
    "Awareness",
    "CuratorProtocol",
    "DataSynthesizer",
    "Gaussian",
    "Histogram",
    "Independent",
    "Option",
    "PrivBayes",
    "PrivMRF",
    "PrivSyn",
    "Progress",
    "Random",
    "Residual",
    "ResidualPlan",
    "Stability",
    "Synthesizer",
    "Workload",
    "awareness_rows",
    "error_bound",
    "ignore_progress",
    "list_synthesizers",
    "make",
    "options_of",
    "summarise_class",
    "synthesizer_class",
]
