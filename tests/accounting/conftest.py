"""What tests of the ledger share."""

import os
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def scratch(tmp_path):
    """A folder in memory where there is one: what a crowd or a kill can do does not
    depend on how slow the disk is.
    """
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        dir=memory if os.access(memory, os.W_OK) else tmp_path
    ) as folder:
        yield Path(folder)
