"""The notebooks of the gallery run, and hold what they showed."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from kit.scripts import load_script

gallery = load_script("gallery")
NOTEBOOKS = gallery.list_notebooks()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_holds_its_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output.output_type for cell in cells for output in cell.outputs}
    assert kinds <= {"execute_result", "stream", "display_data"}
    assert "stderr" not in {
        output.get("name") for cell in cells for output in cell.outputs
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_names_no_folder_of_a_machine(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"/(?:tmp|root|home|Users)/", text)


def test_the_index_lists_every_notebook_once() -> None:
    page = (gallery.GALLERY / "index.md").read_text()
    assert sorted(re.findall(r"\((\S+\.ipynb)\)", page)) == [
        path.name for path in NOTEBOOKS
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the kernel's client, not of ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    gallery.run_notebook(path, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_notebook_that_fails_is_found(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("import understudy as us\nus.nothing_of_this_name")
    page = tmp_path / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), page)
    with pytest.raises(Exception, match="nothing_of_this_name"):
        gallery.run_notebook(page, tmp_path)
