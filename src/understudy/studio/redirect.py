"""A local page that forwards the browser to the studio, so that the address with its
token stands on no command line.

Every user of a machine can read the command lines of all (`ps`), and a browser is
started with what it shall open on its own. So it is given a file to open, which only
its owner can read and which leads on to the address.

The file lies in a folder of its own in the home directory, and the folder's name does
not begin with a dot: browsers in a sandbox (snap) read neither the temporary directory
nor the runtime directory nor hidden folders, and a home is the one place that on every
system is its user's. The folder is gone once the address was used, and when the studio
ends; after `kill -9` it stays, with a token that opens nothing.
"""

from __future__ import annotations

import html
import secrets
import shutil
from pathlib import Path
from types import TracebackType

from understudy.atomic import PRIVATE_FOLDER_MODE, write_file_atomically
from understudy.errors import Refused

NO_BROWSER_MESSAGE = (
    "No browser was opened: your home directory cannot be written to, where a page"
    " would lead it on. Open the address yourself."
)

_REDIRECT_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer"'
    ' content="no-referrer"><meta http-equiv="refresh" content="0;'
    ' url={url}"><title>Understudy studio</title><p><a href="{url}">Go on to the'
    " studio</a></p></html>\n"
)


class RedirectPage:
    """One page and its folder; both are gone when the block ends.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home, RedirectPage(Path(home)) as page:
    ...     uri = page.write("http://127.0.0.1:1/?token=x")
    ...     uri.startswith("file:///"), len(list(Path(home).glob("understudy-studio-*/open.html")))
    (True, 1)
    """

    def __init__(self, home: Path | None = None) -> None:
        self._home = home
        self._folder: Path | None = None

    def write(self, url: str) -> str:
        """Write the page; its own address, for a browser. Refused where no home can be
        written to.
        """
        self.remove()
        try:
            home = Path.home() if self._home is None else self._home
            # Named before it is made: an interrupt in the instant of its birth leaves
            # none behind.
            self._folder = home.resolve() / f"understudy-studio-{secrets.token_hex(8)}"
            self._folder.mkdir(mode=PRIVATE_FOLDER_MODE)
        except (OSError, RuntimeError):  # the latter where the system knows of no home
            raise Refused(NO_BROWSER_MESSAGE) from None
        page = self._folder / "open.html"
        with write_file_atomically(page, private=True) as draft:
            draft.write_text(
                _REDIRECT_PAGE.format(url=html.escape(url)), encoding="utf-8"
            )
        return page.as_uri()

    def remove(self) -> None:
        """Remove the page and its folder, if there are any."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __enter__(self) -> RedirectPage:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()
