"""A release made in a real notebook kernel that has no ipywidgets, and its progress."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat

RELEASE = """
import sys
sys.modules["ipywidgets"] = None  # as where it is not installed
import understudy as us
release = us.synthesize("people.csv", epsilon=5, ledger="people.ledger")
print(len(release.sample(50)))
"""

EXECUTE = "from nbclient.cli import main; main()"


def kernel_of_this_interpreter(folder: Path) -> str:
    """Write a kernel specification; what else is installed plays no part."""
    spec = folder / "kernels" / "python3"
    spec.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    described = {"argv": command, "display_name": "here", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(described))
    return str(folder)


def test_a_table_is_opened_and_released_without_ipywidgets(tmp_path):
    rows = "".join(f"{20 + i % 40},{'FM'[i % 2]}\n" for i in range(400))
    (tmp_path / "people.csv").write_text("age,sex\n" + rows)
    page = tmp_path / "page.ipynb"
    code = nbformat.v4.new_code_cell(RELEASE)
    nbformat.write(nbformat.v4.new_notebook(cells=[code]), page)
    # A child process: sockets of a kernel that ends are closed with it.
    kernels = kernel_of_this_interpreter(tmp_path / "jupyter")
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, "--inplace", str(page)],
        env=os.environ | {"JUPYTER_PATH": kernels},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    outputs = nbformat.read(page, as_version=4).cells[0].outputs
    printed = "".join(output.text for output in outputs if "text" in output)
    assert printed.split()[-1] == "50"
    # One line, updated in place: the last thing that a run does is to fit.
    (line,) = [output.data for output in outputs if "data" in output]
    assert line == {"text/plain": "fitting 100 %"}
