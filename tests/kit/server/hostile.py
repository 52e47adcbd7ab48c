"""Requests of people who want what is not theirs: rows, other people's answers, answers
for nothing, or words from an error. Each is well-formed enough to reach the server, and
each must be refused with an error of the catalogue, at no cost.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
ASKED = {"question": BY_SEX, "within": 50}
ASKED_BODY = json.dumps(ASKED).encode()


@dataclass(frozen=True)
class HostileRequest:
    """One request; headers may repeat a name."""

    method: str = "POST"
    path: str = "/v1/ask"
    body: bytes = ASKED_BODY
    headers: tuple[tuple[str, str], ...] = ()

    def with_token(self, token: str) -> HostileRequest:
        """The same in the name of an analyst."""
        bearer = ("Authorization", f"Bearer {token}")
        return replace(self, headers=(bearer, *self.headers))


def list_forged_identities(token: str) -> Iterator[HostileRequest]:
    """Without a token of one's own; `token` is somebody's."""
    for words in (
        "",
        "Bearer",
        "Bearer ",
        "Basic YWRhOmFkYQ==",
        "Digest username=ada",
        "Negotiate x",
        "Token ada",
        "Bearer ada",
        "Bearer ' OR 1=1 --",
        "Bearer ' UNION SELECT digest FROM token --",
        "Bearer %",
        "Bearer null",
        "Bearer undefined",
        "Bearer \xff\xfe",
        "Bearer " + "A" * 6000,
        f"Bearer {token[:-1]}",
        f"Bearer {token}A",
        f"Bearer {token} ",
        f"Bearer  {token}",
        f"Bearer\t{token}",
        f"Bearer Bearer {token}",
        f"Bearer {token}, Bearer {token}",
        f"Bearer {token.swapcase()}",
        f"Bearer {token[::-1]}",
        # Whoever has read the file of tokens has digests, and digests open nothing.
        f"Bearer {sha256(token.encode()).hexdigest()}",
        f"Basic {token}",
        token,
    ):
        yield HostileRequest(headers=(("Authorization", words),))
    for name, value in (
        ("X-Forwarded-User", "ada"),
        ("X-Remote-User", "ada"),
        ("X-Analyst", "ada"),
        ("Cookie", "analyst=ada"),
        ("Cookie", f"token={token}"),
        ("Cookie", f"Authorization=Bearer {token}"),
        ("Proxy-Authorization", f"Bearer {token}"),
        ("X-Authorization", f"Bearer {token}"),
        ("Forwarded", "for=127.0.0.1;by=ada"),
    ):
        yield HostileRequest(headers=((name, value),))
    yield HostileRequest(path=f"/v1/ask?token={token}")
    yield HostileRequest(path=f"/v1/ask?access_token={token}")
    yield HostileRequest(body=json.dumps({**ASKED, "token": token}).encode())
    yield HostileRequest()
    # Two of them: a proxy may have checked the other.
    wrong = HostileRequest(headers=(("Authorization", "Bearer wrong"),))
    yield wrong.with_token(token)
    yield HostileRequest(
        headers=(*wrong.headers, ("Authorization", f"Bearer {token}")),
    )


HOSTILE_PATHS = (
    ("GET", "/v1/ask"),
    ("PUT", "/v1/ask"),
    ("PATCH", "/v1/ask"),
    ("DELETE", "/v1/ask"),
    ("HEAD", "/v1/ask"),
    ("OPTIONS", "/v1/ask"),
    ("TRACE", "/v1/ask"),
    ("CONNECT", "/v1/ask"),
    ("ask", "/v1/ask"),
    ("DELETE", "/v1/account"),
    ("POST", "/v1/account"),
    ("POST", "/v1/answers"),
    ("DELETE", "/v1/answers"),
    ("PATCH", "/v1/schema"),
    ("GET", "/v1/price"),
    ("GET", "/v1/try"),
    ("POST", "/"),
    ("POST", "/v1/ask/"),
    ("POST", "/v1/ask%00"),
    ("POST", "/v1//ask"),
    ("POST", "/V1/ASK"),
    ("POST", "/v2/ask"),
    ("POST", "//v1/ask"),
    ("POST", "/v1/ask;x=1"),
    ("GET", "/v1/../people.csv"),
    ("GET", "/ask.css/../../people.csv"),
    ("GET", "/assets/ask.js"),
    ("GET", "/people.csv"),
    ("GET", "/people.ledger"),
    ("GET", "/people.ledger.tokens"),
    ("GET", "/..%2f..%2fetc%2fpasswd"),
    ("GET", "/v1/answers/1"),
    ("GET", "/v1/answers/hedy"),
    ("GET", "/v1/rows"),
    ("GET", "/docs"),
    ("GET", "/openapi.json"),
    ("GET", "/.env"),
    ("GET", "//evil.example/v1/schema"),
    ("POST", "/v1/grant"),
    ("POST", "/v1/analysts"),
)


def _write_number(words: bytes, field: bytes = b"within") -> bytes:
    return (
        b'{"question": "SELECT COUNT(*) FROM people", "' + field + b'": ' + words + b"}"
    )


HOSTILE_BODIES: tuple[bytes, ...] = (
    b"",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"\xff\xfe",
    b"\x00",
    b"{",
    b'"SELECT 1"',
    ASKED_BODY + b"x",
    ASKED_BODY * 2,
    b"\xef\xbb\xbf" + ASKED_BODY,
    json.dumps(ASKED).encode("utf-16"),
    json.dumps(ASKED).encode("utf-32"),
    gzip.compress(ASKED_BODY),
    b"question=SELECT+COUNT(*)+FROM+people&within=50",
    b"<question>SELECT 1</question>",
    b"[" * 15_000,
    b'{"a":' * 3_000,
    b"[" + ASKED_BODY + b"]",
    b'{"question": "' + b"x" * 16_400 + b'", "within": 50}',
    # The first of two is what a proxy may look at.
    b'{"question": "SELECT COUNT(*) FROM people", "within": 500, "within": 50}',
    b'{"question": "x", "question": "SELECT COUNT(*) FROM people", "within": 50}',
    _write_number(b"NaN"),
    _write_number(b"Infinity"),
    _write_number(b"-Infinity"),
    _write_number(b"1e999"),
    _write_number(b"-0.0"),
    _write_number(b"0"),
    _write_number(b"-1"),
    _write_number(b"1" + b"0" * 400),
    _write_number(b"0x32"),
    _write_number(b"050"),
    _write_number(b"true"),
    _write_number(b'"50"'),
    _write_number(b"[50]"),
    _write_number(b'{"$gt": 0}'),
    _write_number(b"null"),
    _write_number(b"1" + b"0" * 5000, b"epsilon"),
    json.dumps({"question": BY_SEX}).encode(),
    json.dumps({**ASKED, "epsilon": 1}).encode(),
    json.dumps({**ASKED, "question": None}).encode(),
    json.dumps({**ASKED, "question": ["SELECT 1"]}).encode(),
    json.dumps({**ASKED, "question": {"sql": BY_SEX}}).encode(),
    json.dumps({**ASKED, "purpose": "x" * 201}).encode(),
    json.dumps({**ASKED, "purpose": "two\nlines"}).encode(),
    json.dumps({**ASKED, "purpose": "\x1b[2J"}).encode(),
    json.dumps({**ASKED, "purpose": "\ud800"}).encode(),
    json.dumps({**ASKED, "purpose": 7}).encode(),
    json.dumps({**ASKED, "pictures": 1}).encode(),
)
"""What is no question at all."""

HOSTILE_FIELDS = {
    "analyst": "hedy",
    "ledger": "other.ledger",
    "budget": 100,
    "delta": 1,
    "neighbours": "replace",
    "accounting": "pure",
    "release": "r.understudy",
    "free": True,
    "cost": 0,
    "noise": False,
    "seed": 1,
    "scale": 0,
    "digest": "0" * 64,
    "run": "another",
    "__proto__": {},
}
"""Fields that would change who pays or how much noise there is, if they were read."""

HOSTILE_SQL = (
    "",
    ";",
    "SELECT",
    "SELECT 1",
    "SELECT * FROM people",
    "SELECT age FROM people",
    "SELECT DISTINCT income FROM people",
    "SELECT sex, income FROM people GROUP BY sex, income ORDER BY income LIMIT 1",
    "SELECT MIN(income) FROM people",
    "SELECT MAX(income) FROM people",
    "SELECT ARG_MAX(age, income) FROM people",
    "SELECT FIRST(income) FROM people",
    "SELECT ANY_VALUE(income) FROM people",
    "SELECT LIST(income) FROM people",
    "SELECT STRING_AGG(region, ',') FROM people",
    "SELECT JSON_GROUP_ARRAY(income) FROM people",
    "SELECT HISTOGRAM(income) FROM people",
    "SELECT MODE(income) FROM people",
    "SELECT COUNT(*) FROM people; DROP TABLE people",
    "SELECT COUNT(*) FROM people; SELECT * FROM people",
    "SELECT COUNT(*) FROM people UNION SELECT income FROM people",
    "SELECT COUNT(*) FROM people EXCEPT SELECT 1",
    "SELECT COUNT(*) FROM (SELECT * FROM people LIMIT 1)",
    "SELECT COUNT(*) FROM people WHERE income = (SELECT MAX(income) FROM people)",
    "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM people WHERE age = 93)",
    "SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people)",
    "WITH p AS (SELECT * FROM people LIMIT 1) SELECT COUNT(*) FROM p",
    "SELECT COUNT(*) FROM people p, people q",
    "SELECT COUNT(*) FROM people p JOIN people q ON p.age = q.age",
    "SELECT COUNT(*) FROM people TABLESAMPLE 1 ROWS",
    "SELECT COUNT(*) OVER () FROM people",
    "SELECT COUNT(*) FROM people QUALIFY ROW_NUMBER() OVER () = 1",
    "SELECT sex, COUNT(*) FROM people GROUP BY ROLLUP (sex)",
    "SELECT SUM(COUNT(*)) FROM people",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) FROM glob('*')",
    "SELECT COUNT(*) FROM duckdb_settings()",
    "SELECT getenv('HOME')",
    "SELECT COUNT(*) FROM people WHERE getenv('HOME') = 'x'",
    # These fail, or take long, only if somebody in the rows makes them.
    "SELECT COUNT(*) FROM people WHERE income/(age-93) >= 0",
    "SELECT COUNT(*) FROM people WHERE CAST(region AS INTEGER) = 1",
    "SELECT COUNT(*) FROM people WHERE error('seen') = 1",
    "SELECT COUNT(*) FROM people WHERE SLEEP(5) = 1 AND age = 93",
    "SELECT SUM(1 / (age - 93)) FROM people",
    "SELECT SUM(EXP(income)) FROM people",
    "SELECT AVG(CASE WHEN age = 93 THEN 1e300 ELSE 0 END) FROM people",
    "SELECT COUNT(*) FROM people WHERE RANDOM() < 0.5",
    "SELECT COUNT(*) FROM people WHERE born < NOW()",
    "SELECT COUNT(*) FROM people WHERE rowid = 1",
    "SELECT COUNT(*) FROM people WHERE nonsense = 1",
    "SELECT COUNT(*) FROM people WHERE age > ?",
    "SELECT COUNT(*) FROM people WHERE age > $1",
    "SELECT COUNT(*) FROM people WHERE region SIMILAR TO '(a+)+b'",
    "SELECT COUNT(*) FROM people WHERE regexp_matches(region, '(a+)+b')",
    "SELECT COUNT(*) FROM people INTO OUTFILE '/tmp/x'",
    "SELECT SUM(income * income * income) FROM people",
    "INSERT INTO people VALUES (1)",
    "UPDATE people SET age = 1",
    "DELETE FROM people",
    "DROP TABLE people",
    "CREATE TABLE t AS SELECT * FROM people",
    "COPY people TO '/tmp/x'",
    "ATTACH 'people.ledger' AS l",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "SET enable_external_access = true",
    "EXPLAIN ANALYZE SELECT COUNT(*) FROM people",
    "DESCRIBE people",
    "SHOW TABLES",
    "CALL pragma_version()",
    "SELECT " + "(" * 5000,
    "SELECT COUNT(*) FROM people WHERE " + "NOT " * 3000 + "married",
    "SELECT COUNT(*) FROM people WHERE " + " OR ".join(["age = 1"] * 1200),
    "SELECT COUNT(*) FROM people -- " + "x" * 11_000,
    "SELECT\x00COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE region = '\ud800'",
    "\u202eSELECT COUNT(*) FROM people",
    "SELECT COUNT(*) /*! FROM people WHERE 1=1",
    "SELECT COUNT(*) FROM people WHERE region = 'North",
)

HOSTILE_PRICES = (
    {"within": 1e-300},
    {"within": 1e-9},
    {"epsilon": 1e300},
    {"epsilon": 30},
    {"within": 0.5},
)
"""More than anybody has left."""


def list_forged_requests() -> Iterator[HostileRequest]:
    """What an analyst with a token tries."""
    for method, path in HOSTILE_PATHS:
        yield HostileRequest(method, path)
    for body in HOSTILE_BODIES:
        yield HostileRequest(body=body)
    for name, value in HOSTILE_FIELDS.items():
        yield HostileRequest(body=json.dumps({**ASKED, name: value}).encode())
    yield from list_hostile_sql()
    for price in HOSTILE_PRICES:
        yield HostileRequest(body=json.dumps({"question": BY_SEX, **price}).encode())


def list_hostile_sql() -> Iterator[HostileRequest]:
    """What SQL could do to rows, were it run on any."""
    for sql in HOSTILE_SQL:
        yield HostileRequest(body=json.dumps({**ASKED, "question": sql}).encode())


def list_forged_frames(token: str) -> Iterator[bytes]:
    """Bytes on a socket that two servers could read as different requests."""
    bearer = f"Authorization: Bearer {token}".encode()
    own = b"Host: x", bearer
    right_length = b"Content-Length: %d" % len(ASKED_BODY)
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(ASKED_BODY), ASKED_BODY)
    chunked = b"Transfer-Encoding: chunked"
    for headers, body in (
        ((*own, right_length, chunked), chunks),
        ((*own, chunked, b"Content-Length: 5"), chunks),
        ((*own, b"Transfer-Encoding: xchunked"), chunks),
        ((*own, b"Transfer-Encoding : chunked"), chunks),
        ((*own, b"Transfer-Encoding: chunked, identity"), chunks),
        ((*own, chunked), b"-1\r\n" + ASKED_BODY),
        ((*own, right_length, b"Content-Length: 5"), ASKED_BODY),
        ((*own, b"Content-Length: -1"), ASKED_BODY),
        ((*own, b"Content-Length: +50"), ASKED_BODY),
        ((*own, b"Content-Length: 0x20"), ASKED_BODY),
        ((b"Host: x", bearer + b"\x00", right_length), ASKED_BODY),
        ((b"Host: x", b"X: a\r" + bearer, right_length), ASKED_BODY),
        ((b"Host: x", bearer.replace(b":", b" :"), right_length), ASKED_BODY),
        ((b"Host: x", b"", bearer, right_length), ASKED_BODY),
        # The body of a request without a token is a request with one.
        ((b"Host: x", right_length), b"GET /v1/schema HTTP/1.1\r\n" + bearer),
    ):
        start = (b"POST /v1/ask HTTP/1.1", b"Connection: close")
        yield b"\r\n".join((*start, *headers, b"", body))
    yield b"GET /v1/account\r\n\r\n"
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    yield b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n" + bearer + b"\r\n\r\n"
    yield b"GET /v1/account HTTP/1.1\r\nX: " + b"a" * 200_000 + b"\r\n\r\n"
