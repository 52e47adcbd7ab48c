"""One sentence a line in Markdown, so that a change of one sentence is one line of a
diff.

`python scripts/sentences.py` rewrites every page of the project, `--check` lists the
pages that would change. Paragraphs and list items are rewrapped; code, tables, headings,
quotes and HTML stay as they are.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^(\s*)([-*+]|\d+[.)])(\s+)(?=\S)")
NOT_PROSE = re.compile(r"^\s*(#|\||>|<|!\[|:::|\?\?\?|!!!|\[[^\]]+\]:|---|===|\$\$)")
ABBREVIATIONS = {"e.g.", "i.e.", "cf.", "vs.", "al.", "Fig.", "Sec.", "Eq.", "No."}
OPENING, CLOSING = "([{", ")]}"
SENTENCE_END = re.compile(r"[.!?][\"'”’*_)\]`]*$")
NUMBERING = re.compile(r"\W*\w{1,2}\.")
BLOCK_START = re.compile(r"^([-*+>#|=]|\d+[.)]|:::|```)")


def split_words(text: str) -> Iterator[tuple[str, bool]]:
    """Words of a paragraph, each with whether code or a bracket is open behind it."""
    in_code = False
    depth = 0
    for word in text.split():
        for letter in word:
            if letter == "`":
                in_code = not in_code
            elif not in_code and letter in OPENING:
                depth += 1
            elif not in_code and letter in CLOSING:
                depth = max(0, depth - 1)
        yield word, in_code or depth > 0


def split_sentences(text: str) -> list[str]:
    """The sentences of a paragraph: none ends inside code, brackets or an abbreviation.

    >>> split_sentences("One row (of two. Or more) moves. Noise, e.g. `a. B`, hides it.")
    ['One row (of two. Or more) moves.', 'Noise, e.g. `a. B`, hides it.']
    """
    words = list(split_words(text))
    following = [word for word, _ in words[1:]] + [""]
    sentences: list[str] = []
    sentence: list[str] = []
    for (word, is_open), after in zip(words, following, strict=True):
        sentence.append(word)
        is_number = len(sentence) == 1 and NUMBERING.fullmatch(word) is not None
        if not is_open and not is_number and ends_sentence(word, after):
            sentences.append(" ".join(sentence))
            sentence = []
    if sentence:
        sentences.append(" ".join(sentence))
    return sentences


def ends_sentence(word: str, after: str) -> bool:
    """Does a sentence end with this word, if that one follows?"""
    if word in ABBREVIATIONS or not SENTENCE_END.search(word):
        return False
    # A bold phrase that opens a paragraph stays with its first sentence.
    if word.endswith("**"):
        return False
    # At the beginning of a line these would open a list, a heading or a quote.
    if BLOCK_START.match(after) and not re.match(r"\*+\w", after):
        return False
    is_initial = re.fullmatch(r"[A-Z]\.", word) is not None
    first = after.lstrip("\"'“‘*_([`")[:1]
    is_code = after.startswith(("`", "[`"))
    return not is_initial and (is_code or not first.islower())


def rewrap(page: str) -> str:
    """The page with one sentence a line in paragraphs and list items."""
    lines = page.split("\n")
    at = end_of_front_matter(lines)
    result = lines[:at]
    while at < len(lines):
        end = end_of_block(lines, at)
        block = lines[at:end]
        is_prose = end > at + 1 or (block[0].strip() and not stands_alone(block[0]))
        result.extend(rewrap_block(block) if is_prose else block)
        at = end
    return "\n".join(result)


def end_of_front_matter(lines: list[str]) -> int:
    """The line behind the settings between two rules at the top, 0 without any."""
    if lines[0] != "---":
        return 0
    closing = (at for at in range(1, len(lines)) if lines[at] == "---")
    return next(closing, -1) + 1


def stands_alone(line: str) -> bool:
    """Is this a line of its own, which is never joined with others?"""
    is_code = line.startswith("    ") and not ITEM.match(line)
    return bool(NOT_PROSE.match(line) or FENCE.match(line) or is_code)


def end_of_block(lines: list[str], start: int) -> int:
    """The line behind the paragraph, list item or fenced code that begins here."""
    fence = FENCE.match(lines[start])
    if fence is not None:
        closing = (
            at
            for at in range(start + 1, len(lines))
            if lines[at].strip().startswith(fence[1])
        )
        return next(closing, len(lines) - 1) + 1
    if not lines[start].strip() or stands_alone(lines[start]):
        return start + 1
    end = start + 1
    while end < len(lines) and continues(lines[end]):
        end += 1
    return end


def continues(line: str) -> bool:
    """Does this line belong to the paragraph or item above it?"""
    opens_block = NOT_PROSE.match(line) or FENCE.match(line) or ITEM.match(line)
    return bool(line.strip()) and not opens_block


def rewrap_block(block: list[str]) -> list[str]:
    """A paragraph or list item, one sentence a line."""
    # Fenced code is no prose, and two spaces at the end of a line are a line break.
    if FENCE.match(block[0]) or any(line.endswith("  ") for line in block):
        return block
    item = ITEM.match(block[0])
    indent = item[0] if item else re.match(r"\s*", block[0])[0]  # type: ignore[index]
    body = [block[0][len(indent) :], *block[1:]]
    sentences = split_sentences(" ".join(line.strip() for line in body))
    rest = " " * len(indent)
    return [
        (indent if number == 0 else rest) + sentence
        for number, sentence in enumerate(sentences)
    ]


def list_pages() -> list[Path]:
    """Every Markdown page under version control, or about to be."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "*.md"]
    listed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in sorted(listed.stdout.split())]


def main(arguments: list[str]) -> int:
    """Rewrite the pages, or with --check list those that would change."""
    changed = []
    for page in list_pages():
        text = page.read_text()
        wanted = rewrap(text)
        if wanted == text:
            continue
        changed.append(str(page.relative_to(ROOT)))
        if "--check" not in arguments:
            page.write_text(wanted)
    for name in changed:
        verb = "has lines" if "--check" in arguments else "had lines"
        print(f"{name} {verb} that are not one sentence: make format")
    return 1 if changed and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
