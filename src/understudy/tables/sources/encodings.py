"""Character encodings of CSV files, decoded so that no line can change how another is
read.

A decoder that remembers something carries it from row to row: after one stray escape
sequence in ISO-2022-JP all later rows are other characters, and UTF-7 and HZ run lines
together. So an encoding is accepted only if it is one of these, and refused before
anything is read otherwise:

  * UTF-8, and those in which every byte is a character. No line break is part of
    anything else in them, so the order does not matter: a file is decoded as it comes
    and cut into lines afterwards.
  * Encodings of several bytes a character that never use the bytes of a line break for
    anything else (Shift-JIS, GBK, Big5, EUC …). Lines are cut in bytes first, and each
    is decoded by itself: a character that breaks off at the end of a line takes no line
    break with it.
  * UTF-16 and UTF-32, cut in bytes likewise: the bytes of a line break end a line
    *wherever they stand*, also across two characters. So a line of an odd number of
    bytes shifts itself and nothing else. The price: a letter of U+0A00 to U+0AFF or
    U+0D00 to U+0DFF (Gurmukhi, Gujarati, Malayalam, Sinhala) right beside a character
    whose number ends in 00, such as U+2000, reads as the end of its line.

Why cutting is the same for every line, whatever its neighbours: no beginning of one
line break is the end of another, so a line break is found where it was written and
never halfway into one.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from importlib import import_module

from understudy.errors import TableError

MULTIBYTE_CODECS = frozenset({
    "big5", "big5hkscs", "cp932", "cp949", "cp950", "euc_jis_2004", "euc_jisx0213",
    "euc_jp", "euc_kr", "gb18030", "gb2312", "gbk", "johab",
    "shift_jis", "shift_jis_2004", "shift_jisx0213",
})  # fmt: skip
"""Encodings of one to eight bytes a character, none of which is the byte of a line
break except in a line break.
"""

WIDE_CODECS = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
FILE_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""What a mark at the beginning of a file says; the longer marks first, since one begins
with another.
"""

MARK_BYTES = 4
"""Longest of the marks above."""

BYTE_VALUES = 256
"""Characters in the table of an encoding in which every byte is one."""


def find_codec(encoding: str, first: bytes, *, header: bool) -> str:
    """The codec that a file is read with, by what is declared and by the mark that it
    may begin with.

    The mark is a part of the header line. Without a header line it would be a part of
    some row, which must not decide how the others are read, so it is not heeded.

    >>> find_codec("UTF8", b"a,b", header=True), find_codec("sjis", b"a,b", header=True)
    ('utf-8', 'shift_jis')
    >>> find_codec("utf-8", b"\\xff\\xfea", header=True)
    'utf-16-le'
    """
    codec = check_encoding(encoding)
    for mark, marked_codec in FILE_MARKS.items():
        if header and first.startswith(mark):
            return marked_codec
    if codec not in ("utf-16", "utf-32"):
        return codec
    # Without a mark, the byte order has to be declared or assumed.
    if not header:
        raise TableError(
            f'"{encoding}" leaves open in which order bytes stand, and no header line'
            f" tells. Say {codec}-le or {codec}-be. Nothing was read"
        )
    return f"{codec}-le"


def check_encoding(encoding: str) -> str:
    """The one name of an encoding in which every line can be read by itself; any other
    is refused.

    >>> check_encoding("latin-1"), check_encoding("utf-8-sig")
    ('iso8859-1', 'utf-8')
    """
    try:
        known = codecs.lookup(encoding)
    except (LookupError, ValueError):
        raise TableError(
            f'"{encoding}" is no known encoding. Try utf-8, latin-1 or cp1252. Nothing'
            " was read"
        ) from None
    codec = known.name
    if codec in ("utf-8", "utf-8-sig"):
        return "utf-8"
    if (
        codec in ("utf-16", "utf-32", *WIDE_CODECS)
        or codec in MULTIBYTE_CODECS
        or _is_single_byte(known)
    ):
        return codec
    raise TableError(
        f'"{encoding}" is no encoding in which each line can be read by itself. '
        "Convert the file to UTF-8 first. Nothing was read"
    )


def _is_single_byte(known: codecs.CodecInfo) -> bool:
    """Whether a codec of Python's own reads each byte as a character: by a table of
    256, or as Latin-1 or ASCII do.
    """
    if known.name in ("ascii", "iso8859-1"):
        return True
    home = getattr(known.incrementaldecoder, "__module__", "")
    if not home.startswith("encodings."):
        return False
    return len(getattr(import_module(home), "decoding_table", "")) == BYTE_VALUES


def decode_chunks(chunks: Iterable[bytes], codec: str) -> Iterator[bytes]:
    """A file in UTF-8, whatever its bytes; what is no text becomes U+FFFD. No chunk
    that is handed on is empty.

    >>> b"".join(decode_chunks([b"\\x83A,1\\n\\x83", b"\\n2,\\x83A\\n"], "shift_jis")).decode()
    'ア,1\\n\ufffd\\n2,ア\\n'
    """
    apart = codec in MULTIBYTE_CODECS or codec in WIDE_CODECS
    texts = _decode_lines(chunks, codec) if apart else _decode_bytes(chunks, codec)
    return (text.encode(errors="replace") for text in texts if text)


def _decode_bytes(chunks: Iterable[bytes], codec: str) -> Iterator[str]:
    """UTF-8, which falls into step at every line break, and encodings that know nothing
    but single bytes.
    """
    decoder = codecs.getincrementaldecoder(codec)(errors="replace")
    for chunk in chunks:
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _decode_lines(chunks: Iterable[bytes], codec: str) -> Iterator[str]:
    """Whole lines at a time, each decoded by itself."""
    breaks = _line_breaks(codec)
    width = len(breaks[0])
    held = bytearray()
    for chunk in chunks:
        # What was held has no line break in it, but its last bytes may begin one.
        start = max(len(held) - width + 1, 0)
        held += chunk
        last = max(held.rfind(line_break, start) for line_break in breaks)
        if last >= 0:
            yield _decode_block(bytes(held[: last + width]), codec, breaks)
            del held[: last + width]
    yield held.decode(codec, "replace")


def _decode_block(block: bytes, codec: str, breaks: tuple[bytes, bytes]) -> str:
    """Lines, each decoded by itself: in one go where that is the same, which is
    quicker.

    It is the same if all is text and every line break in bytes is one in the text:
    these codecs remember nothing from one character to the next, so each line begins
    afresh behind its line break.
    """
    try:
        text = block.decode(codec)
    except UnicodeDecodeError:
        text = ""
    line_feeds, returns = (block.count(line_break) for line_break in breaks)
    if text.count("\n") == line_feeds and text.count("\r") == returns:
        return text
    cut = re.compile(b"(%s|%s)" % tuple(map(re.escape, breaks)))
    return "".join([line.decode(codec, "replace") for line in cut.split(block)])


def _line_breaks(codec: str) -> tuple[bytes, bytes]:
    """The bytes of a line feed and of a carriage return."""
    if codec in MULTIBYTE_CODECS:
        return b"\n", b"\r"
    return "\n".encode(codec), "\r".encode(codec)
