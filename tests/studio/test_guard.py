"""Nobody gets in who should not, whatever they send: each request is made over a real
socket.
"""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from kit.studio.other_user import ROOT, STUDIO_UID, ask_as_other_user
from kit.studio.server import Place, enter, opened, people

Answer = tuple[int, dict[str, str], bytes]


def ask(
    place: Place,
    path: str,
    *,
    method: str = "GET",
    body: bytes = b"",
    host: str | None = None,
    cookie: str | None = None,
    **headers: str,
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=60)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    connection.putheader(
        "Host", host if host is not None else f"127.0.0.1:{place.port}"
    )
    if cookie is not None:
        connection.putheader("Cookie", f"understudy_studio_{place.port}={cookie}")
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body or None)
    answer = connection.getresponse()
    found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    connection.close()
    return found


def post(place: Place, path: str, body: object, **changes: str | None) -> Answer:
    """A change as the studio's own page would ask for it, but for what the test
    changes.
    """
    headers: dict[str, str | None] = {
        "origin": place.url,
        "x_understudy_change": place.change,
        "content_type": "application/json",
    }
    headers |= {k: v for k, v in changes.items() if k not in {"host", "cookie"}}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ask(
        place,
        path,
        method="POST",
        body=data,
        host=changes.get("host"),
        cookie=changes.get("cookie", place.session),
        **{k: v for k, v in headers.items() if v is not None},
    )


def test_a_plan_names_another_ledger_in_the_folder(place: Place) -> None:
    """An account under another name is not charged here, so its cap would not hold."""
    people(place.folder / "alone.csv")
    other = place.folder / "alone.ledger"
    other.touch()
    try:
        _, _, page = ask(place, "/t/alone.csv/plan", cookie=place.session)
    finally:
        other.unlink()
        (place.folder / "alone.csv").unlink()
    assert b"Another ledger lies in this folder: alone.ledger." in page


def test_the_token_opens_the_door_once(place: Place) -> None:
    assert ask(place, "/", cookie=place.session)[0] == 200
    assert ask(place, f"/?token={place.used}")[0] == 403
    # The terminal, and nobody else, is told the next one.
    line = ""
    while "token=" not in line:
        line = place.said.readline()
    token = line.strip().rpartition("=")[2]
    assert token != place.used
    status, headers, body = ask(place, f"/?token={token}", method="HEAD")
    assert (status, "set-cookie" in headers) == (
        403,
        False,
    )  # whoever only looks at a link does not use it up
    status, headers, body = ask(
        place, f"/?token={token}", sec_fetch_site="cross-site"
    )  # a terminal in a browser
    assert status == 200
    assert b'http-equiv="refresh" content="0; url=/"' in body
    crumbs = [part.strip().lower() for part in headers["set-cookie"].split(";")]
    assert {"httponly", "samesite=strict", "path=/"} <= set(crumbs)
    assert crumbs[0].startswith(f"understudy_studio_{place.port}=")
    assert ask(place, f"/?token={token}")[0] == 403
    assert ask(place, "/", cookie=token)[0] == 403


def test_no_secret_is_another(place: Place) -> None:
    secrets = {place.used, place.session, place.change}
    assert len(secrets) == 3
    assert all(len(secret) >= 43 for secret in secrets)
    page = ask(place, "/", cookie=place.session)[2].decode()
    assert place.change in page
    assert place.session not in page
    assert place.used not in page
    # Two browsers have two visits, and what one sends with a change is nothing to the
    # other.
    line = ""
    while "token=" not in line:
        line = place.said.readline()
    session, change = enter(place.port, line.strip().rpartition("=")[2])
    assert {session, change}.isdisjoint(secrets)
    assert (
        post(place, "/api/plan", {"table": "people.csv"}, x_understudy_change=change)[0]
        == 403
    )
    assert (
        post(
            place,
            "/api/plan",
            {"table": "people.csv"},
            x_understudy_change=place.session,
        )[0]
        == 403
    )
    assert (
        post(
            place, "/api/plan", {"table": "people.csv"}, x_understudy_change=place.used
        )[0]
        == 403
    )
    assert (
        post(
            place,
            "/api/plan",
            {"table": "people.csv"},
            x_understudy_change=change,
            cookie=session,
        )[0]
        == 200
    )


def test_another_user_of_this_machine_gets_nothing_whatever_they_know(
    tmp_path: Path,
) -> None:
    people(tmp_path / "people.csv")
    program = f"import os; os.geteuid = lambda: {STUDIO_UID}; from understudy.cli import main; main()"
    process, port, token = opened(tmp_path, program=program)
    try:
        # A header that names another asker changes nothing.
        for headers in (
            {},
            {"X_Forwarded_For": "127.0.0.1"},
            {"Forwarded": "for=127.0.0.1"},
        ):
            status, cookie, text = ask_as_other_user(
                port, f"/?token={token}", **headers
            )
            assert (status, cookie, text) == (
                403,
                None,
                "The studio belongs to another user of this machine.",
            )
        if ROOT:  # or there is no owner here to show that the token is still good, and the cookie good for the owner alone
            session, _ = enter(port, token)
            status, _, text = ask_as_other_user(
                port, "/", Cookie=f"understudy_studio_{port}={session}"
            )
            assert (status, "people" in text) == (403, False)
    finally:
        process.terminate()
        process.communicate(timeout=120)


@pytest.mark.parametrize(
    "name", ["understudy_studio", "understudy_studio_1", "session", "token"]
)
def test_the_cookie_has_a_name_of_its_port(place: Place, name: str) -> None:
    assert ask(place, "/", Cookie=f"{name}={place.session}")[0] == 403


@pytest.mark.parametrize("asker", ["cross-site", "same-site", "x"])
@pytest.mark.parametrize("path", ["/", "/t/people.csv?fresh=1", "/run/x/file/rows"])
def test_pages_of_other_ports_get_nothing(place: Place, path: str, asker: str) -> None:
    """A browser sends the cookie to every port of a host, and says that another port is
    asking.
    """
    assert ask(place, path, cookie=place.session, sec_fetch_site=asker)[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/t/people.csv",
        "/t/people.csv/plan",
        "/t/people.csv/mask",
        "/compare?runs=x",
        "/static/studio.js",
        "/api/run/x",
    ],
)
@pytest.mark.parametrize("cookie", [None, "", "x", "A" * 43])
def test_without_the_cookie_there_is_nothing(
    place: Place, path: str, cookie: str | None
) -> None:
    status, _, body = ask(place, path, cookie=cookie)
    assert status == 403
    assert b"people" not in body


@pytest.mark.parametrize("token", ["", "x", "' or 1=1", "%00", "A" * 5000])
def test_a_wrong_token_opens_nothing(place: Place, token: str) -> None:
    status, headers, _ = ask(place, f"/?token={quote(token)}")
    assert status == 403
    assert "set-cookie" not in headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example:80",
        "",
        "[::1]",
        "127.0.0.1:{port}.evil.example",
    ],
)
@pytest.mark.parametrize("path", ["/", "/t/people.csv"])
def test_another_host_is_not_the_studio(place: Place, host: str, path: str) -> None:
    assert ask(place, path, host=host.format(port=place.port), cookie=place.session)[
        0
    ] in {400, 421}


CHANGES = [
    "/upload",
    "/t/people.csv/schema",
    "/t/people.csv/account",
    "/t/people.csv/mask/tune",
    "/t/people.csv/mask/write",
    "/api/plan",
    "/api/run",
    "/api/run/x/cancel",
]


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize(
    "changed",
    [
        {"origin": None},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1"},
        {"origin": "http:" + "//["},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "same-site"},
        {"x_understudy_change": None},
        {"x_understudy_change": "x"},
        {"cookie": "x"},
        {"host": "evil.example"},
    ],
)
def test_no_other_page_can_change_anything(
    place: Place, path: str, changed: dict[str, str | None]
) -> None:
    before = sorted(p.name for p in place.folder.rglob("*"))
    assert post(place, path, {"table": "people.csv", "epsilon": "1"}, **changed)[0] in {
        400,
        403,
        421,
    }
    assert sorted(p.name for p in place.folder.rglob("*")) == before


@pytest.mark.parametrize("path", CHANGES)
def test_a_token_in_the_address_makes_no_change_another_pages(
    place: Place, path: str
) -> None:
    """The token lets a browser in from anywhere, so what brings one is not asked who
    sent it; a change is, whatever its address holds.
    """
    status, _, text = post(
        place, f"{path}?token=x", {"table": "people.csv"}, sec_fetch_site="cross-site"
    )
    assert (status, text) == (403, b"This was asked for by another page.")


def test_runs_side_by_side_need_their_total_agreed_to(place: Place) -> None:
    people(place.folder / "agreed.csv")
    wanted = {"table": "agreed.csv", "epsilon": "0.5", "modes": True}
    for agreed in (None, "", "0.5", "x", "1e999999999", "-1.5"):
        status, _, answer = post(place, "/api/run", wanted | {"agreed": agreed})
        assert status == 400
        assert "in all, which was not agreed to" in json.loads(answer)["error"]
    assert not (place.folder / "agreed.csv.ledger").exists()
    assert not (place.folder / "agreed.csv.runs").exists()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_do_nothing(place: Place, method: str) -> None:
    assert ask(place, "/t/people.csv", method=method, cookie=place.session)[0] in {
        403,
        405,
    }


NAMES = [
    "../people.csv", "..%2Fpeople.csv", "%2e%2e%2fpeople.csv", "..\\people.csv", "/etc/passwd", "%2Fetc%2Fpasswd", "people.csv%00.csv",
    ".hidden.csv", "people.csv.yaml", "people.csv.ledger", "link.csv", "%252e%252e%252fpeople.csv",
    "....//people.csv", "people.csv/..", "~/people.csv",
    "file:///etc/passwd", "con.csv/../../x", "\u202evsc.elpoep", "*", "people.csv;ls",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["/t/{}", "/t/{}/plan"])
def test_only_tables_of_the_folder_have_a_name(
    place: Place, name: str, form: str
) -> None:
    (place.folder / "link.csv").unlink(missing_ok=True)
    (place.folder / "link.csv").symlink_to("/etc/passwd")
    try:
        status, _, body = ask(
            place, form.format(quote(name, safe="%/")), cookie=place.session
        )
    finally:
        (place.folder / "link.csv").unlink()
    assert status in {400, 404}
    assert b"root:" not in body


@pytest.mark.parametrize("name", NAMES)
def test_an_upload_lands_in_the_folder_or_nowhere(place: Place, name: str) -> None:
    outside = sorted(p.name for p in place.folder.parent.iterdir())
    head = f'--x\r\nContent-Disposition: form-data; name="table"; filename="{name}"\r\nContent-Type: text/csv\r\n\r\n'
    body = head.encode() + b"a\n1\n\r\n--x--\r\n"
    status, _, answer = post(
        place, "/upload", body, content_type="multipart/form-data; boundary=x"
    )
    assert status in {200, 400}
    assert sorted(p.name for p in place.folder.parent.iterdir()) == outside
    if status == 200:
        kept = json.loads(answer)["go"].removeprefix("/t/")
        found = place.folder / kept
        assert found.parent == place.folder
        assert found.is_file()
        assert not found.is_symlink()
        found.unlink()
    assert not list(place.folder.glob(".understudy-*"))


@pytest.mark.parametrize("size", [str(5 << 30), "9" * 30, ""])
def test_an_upload_too_large_or_of_no_size_is_refused_unread(
    place: Place, size: str
) -> None:
    before = sorted(p.name for p in place.folder.iterdir())
    sizes = {"content_length": size} if size else {"transfer_encoding": "chunked"}
    status, _, answer = ask(
        place,
        "/upload",
        method="POST",
        cookie=place.session,
        origin=place.url,
        x_understudy_change=place.change,
        content_type="multipart/form-data; boundary=x",
        **sizes,
    )
    assert status == 400
    assert b"and its size, are needed" in answer or size == "9" * 30
    assert sorted(p.name for p in place.folder.iterdir()) == before


@pytest.mark.parametrize(
    "kind", ["../../people.csv", "schema/../..", "x", "release.understudy", "%2e%2e"]
)
def test_runs_give_only_their_own_files(place: Place, kind: str) -> None:
    assert ask(place, f"/run/nothing/file/{kind}", cookie=place.session)[0] in {
        400,
        404,
    }


@pytest.mark.parametrize(
    "name", ["../app.py", "%2e%2e/guard.py", "base.html", "studio.py", ""]
)
def test_the_static_folder_has_two_files(place: Place, name: str) -> None:
    assert ask(place, f"/static/{name}", cookie=place.session)[0] == 404


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"[" * 100_000, b'{"table": 1e999}', b"\xff\xfe", b"x" * (5 << 20)],
)
def test_what_cannot_be_read_is_refused_in_one_line(place: Place, body: bytes) -> None:
    status, _, answer = post(place, "/api/plan", body)
    assert status == 400
    assert set(json.loads(answer)) == {"error"}


def test_a_plan_takes_a_workload_and_refuses_a_wrong_one(place: Place) -> None:
    body = {"table": "people.csv", "synthesizer": "independent", "workload": "pairs"}
    status, _, answer = post(place, "/api/plan", json.dumps(body).encode())
    assert status == 200, answer
    assert json.loads(answer)["intervals"] == []
    wrong = json.dumps(body | {"workload": "model=nobody~nothing"}).encode()
    status, _, answer = post(place, "/api/plan", wrong)
    assert status == 400
    assert "takes no part" in json.loads(answer)["error"]


def test_every_answer_carries_the_policy(place: Place) -> None:
    for path, cookie in (
        ("/", place.session),
        ("/t/people.csv", place.session),
        ("/nowhere", place.session),
        ("/", "x"),
    ):
        headers = ask(place, path, cookie=cookie)[1]
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_it_listens_on_this_machine_alone(place: Place) -> None:
    import socket

    listening = Path("/proc/net/tcp").read_text().splitlines()[1:]
    mine = [
        line.split()[1]
        for line in listening
        if line.split()[1].endswith(f":{place.port:04X}") and line.split()[3] == "0A"
    ]
    assert mine == [
        f"{socket.ntohl(int.from_bytes(socket.inet_aton('127.0.0.1'), 'big')):08X}:{place.port:04X}"
    ]
