"""Runs the notebooks of the gallery and stores what they show.

    python scripts/gallery.py [NAME ...]        (default: all)

Each runs in an empty folder of its own, so that none can use what another left behind,
and nothing of this machine gets into its output.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "docs" / "gallery"
MAX_CELL_SECONDS = 600


def list_notebooks() -> list[Path]:
    """The notebooks, in the order of their names."""
    return sorted(GALLERY.glob("*.ipynb"))


def run_notebook(path: Path, folder: Path) -> nbformat.NotebookNode:
    """The notebook with the output of a run in this folder; raises if a cell does."""
    notebook = nbformat.read(path, as_version=4)
    # The kernel is another process: it imports the package of this checkout.
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    client = NotebookClient(
        notebook,
        timeout=MAX_CELL_SECONDS,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    return tidy(notebook)


def tidy(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without what differs from machine to machine."""
    notebook.metadata = {
        "kernelspec": {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        },
        "language_info": {"name": "python"},
    }
    return notebook


def main(arguments: list[str]) -> int:
    """Run and store."""
    for path in list_notebooks():
        if arguments and path.stem not in arguments:
            continue
        with tempfile.TemporaryDirectory(prefix="gallery-") as folder:
            nbformat.write(run_notebook(path, Path(folder)), path)
        print(f"{path.relative_to(ROOT)}: done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
