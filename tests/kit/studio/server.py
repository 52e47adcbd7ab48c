"""A studio that runs as a person runs it: its own process, its own folder, its own
port.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import IO


@dataclass(frozen=True)
class Place:
    """A running studio, and a browser's visit to it: its cookie, and what its pages
    send with a change.
    """

    folder: Path
    port: int
    session: str
    change: str
    used: str
    """The token of the address that was printed; this visit used it up."""
    said: IO[str]
    """What the terminal shows next."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def people(path: Path, rows: int = 200) -> Path:
    """A small table with a dependence in it."""
    lines = ["age,sex,town,smoker"]
    for i in range(rows):
        lines.append(
            f"{20 + (7 * i) % 60},{'F' if i % 2 else 'M'},{'xyz'[(i // 2) % 3]},{'yes' if i % 4 == 0 else 'no'}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def enter(port: int, token: str) -> tuple[str, str]:
    """Open the door as a browser does: the cookie it gets, and the secret that stands
    in its pages.
    """
    headers, _ = get(port, f"/?token={token}")
    cookie = re.match(rf"understudy_studio_{port}=([^;]+)", headers["set-cookie"])
    assert cookie is not None
    _, page = get(port, "/", f"understudy_studio_{port}={cookie[1]}")
    change = re.search(r'name="understudy-change" content="([^"]+)"', page)
    assert change is not None
    return cookie[1], change[1]


def get(port: int, path: str, cookie: str = "") -> tuple[dict[str, str], str]:
    """A page with its headers, as the server sends them."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
        answer = connection.getresponse()
        return {
            name.lower(): value for name, value in answer.getheaders()
        }, answer.read().decode()


def opened(
    folder: Path,
    *,
    stderr: int = subprocess.PIPE,
    program: str = "from understudy.cli import main; main()",
    browser: str | None = None,
    home: Path | None = None,
) -> tuple[subprocess.Popen[str], int, str]:
    """A studio in a process of its own, its port and its first token. It opens a
    browser, any command line, where one is named.
    """
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            program,
            "studio",
            str(folder),
            *([] if browser else ["--no-browser"]),
        ],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        # Tests run side by side: threads of the algebra library would only wait for
        # each other.
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        | ({"BROWSER": browser} if browser else {})
        | ({"HOME": str(home)} if home else {}),
    )
    assert process.stdout is not None
    said = ""
    while "Ctrl-C" not in said:
        line = process.stdout.readline()
        assert line, f"the studio did not start: {said}"
        said += line
    found = re.search(r":(\d+)/\?token=(\S+)", said)
    assert found is not None
    return process, int(found[1]), found[2]
