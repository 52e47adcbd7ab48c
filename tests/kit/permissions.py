"""Who may read a file, and what to expect of files that are private and files that are
not.
"""

from __future__ import annotations

import stat
from pathlib import Path

PUBLIC, PUBLIC_FOLDER, PRIVATE, PRIVATE_FOLDER = 0o666, 0o777, 0o600, 0o700
"""What a system that withholds nothing gives to new files and folders, and what only
their owner can read.
"""


def modes(folder: Path) -> dict[str, int]:
    """Every file and folder in a folder, with who may do what."""
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
    }
