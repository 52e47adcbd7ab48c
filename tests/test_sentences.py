"""Pages have one sentence a line, and the program that keeps them so changes nothing
else.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from markdown_it import MarkdownIt

from kit.scripts import ROOT, load_script

sentences = load_script("sentences")

PAGE = """\
---
name: one
about: two. Three
---
# A heading. It stays.

Rows are private. Noise is
exact (to the bit. Always), e.g. `a. B` is code. *Then* another one.

- **Bold.** One thing. Another
  thing.
1. First. Second.

| a. B | c. D |
|---|---|
| e. F | g. H |

```python
x = "one. Two."
```
"""

WRAPPED = """\
---
name: one
about: two. Three
---
# A heading. It stays.

Rows are private.
Noise is exact (to the bit. Always), e.g. `a. B` is code.
*Then* another one.

- **Bold.** One thing.
  Another thing.
1. First.
   Second.

| a. B | c. D |
|---|---|
| e. F | g. H |

```python
x = "one. Two."
```
"""


def test_sentences_get_lines_of_their_own_and_nothing_else_changes() -> None:
    assert sentences.rewrap(PAGE) == WRAPPED
    assert sentences.rewrap(WRAPPED) == WRAPPED


@pytest.mark.parametrize("page", sentences.list_pages(), ids=lambda page: page.name)
def test_pages_look_the_same_after_it(page) -> None:
    text = page.read_text()
    render = MarkdownIt().enable("table").render
    assert render(sentences.rewrap(text)).split() == render(text).split()


@pytest.mark.parametrize(
    "text",
    [
        "**1. The dictionary** is public.",
        "He saw J. Smith there.",
        "Compare et al. Here.",
        "See No. 5.",
        "It is 1. - not.",
    ],
)
def test_what_looks_like_an_end_is_none(text: str) -> None:
    assert sentences.split_sentences(text) == [text]


def test_every_page_keeps_the_rule() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/sentences.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
