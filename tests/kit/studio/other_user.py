"""Another user of this machine, for tests: a process that gives up being root before it
does anything.

Where the tests do not run as root there is no becoming somebody else, so `STUDIO_UID`
turns the question round: the studio takes itself for another user's. What asks is a
real connection of a real user either way.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

ROOT = os.geteuid() == 0
OTHER_UID = 65534  # `nobody`, on every Linux and in every container
STUDIO_UID = 0 if ROOT else os.geteuid() + 1
"""The user whom a studio must be for the other user to be another."""

LEAVE = f"""
import encodings.idna, http.client, json, os, pathlib, socket, sys
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({OTHER_UID})
    os.setuid({OTHER_UID})
said = json.load(sys.stdin)
"""
"""Modules are loaded while everything can still be read; secrets come through a pipe,
never on the command line.
"""

ASK = """
connection = http.client.HTTPConnection("127.0.0.1", said["port"], timeout=60)
connection.request("GET", said["path"], headers=said["headers"])
answer = connection.getresponse()
print(json.dumps([answer.status, answer.getheader("set-cookie"), answer.read().decode()]))
"""

SPY = """
seen = 0
for place in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        seen += said["token"].encode() in place.read_bytes()
    except OSError:
        pass
try:
    read = pathlib.Path(said["page"]).read_text()
except PermissionError:
    read = ""
print(json.dumps([seen, said["token"] in read]))
"""


def run_as_other_user(code: str, **said: object) -> Any:
    """What a program of the other user's finds."""
    done = subprocess.run(
        [sys.executable, "-c", LEAVE + code],
        input=json.dumps(said),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def ask_as_other_user(
    port: int, path: str, **headers: str
) -> tuple[int, str | None, str]:
    """Status, cookie and text of an answer that the other user got."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    status, cookie, text = run_as_other_user(ASK, port=port, path=path, headers=sent)
    return status, cookie, text
