"""A real curator on made-up rows, as a run has it."""

from kit.synthesizers.open_curator import open_curator as open_curator
from kit.synthesizers.shared_trials import shared_trials as shared_trials
