"""The review page answers its own browser alone, and shows only what it may show."""

import json
import os
import socket
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from integration.conftest import Canon, in_store
from integration.services import asking, file_of, open_bundles
from pages.conftest import Answer, Page, Serve, Waiting
from servers.musicbrainz import MusicBrainzStandIn

KEEP = {"verdict": {"action": "keep"}}


def waits(page: Page) -> int:
    return len(page.ids())


def test_the_address_opens_the_page_once(serve: Serve, waiting: Waiting) -> None:
    waiting(1)
    page = serve()
    path = page.address.partition(page.host)[2]
    for wrong in ("/open", "/open?token=", "/open?token=x", path[:-1], f"{path}x"):
        assert page.send("GET", wrong, {"Host": page.host}).status == 403
    opened = page.send("GET", path, {"Host": page.host, "Sec-Fetch-Site": "cross-site"})
    cookie = opened.headers["Set-Cookie"]
    assert opened.status == 200
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert 'http-equiv="refresh" content="0;url=/"' in opened.text
    assert path.partition("=")[2] not in opened.text
    again = page.send("GET", path, {"Host": page.host})
    assert (again.status, again.headers["Set-Cookie"]) == (403, None)
    assert "was used before" in again.text


def test_nothing_is_shown_without_the_right_cookie(page: Page) -> None:
    wrong = ["", "canon=x", f"canon-{page.port}=", f"canon-{page.port}=wrong", "\x01;=,"]
    for path, cookie in product(("/", "/queue", "/static/review.js", "/case/x", "/no"), wrong):
        shown = page.get(path, Cookie=cookie)
        assert (shown.status, b"<" in shown.body) == (403, False)


HOSTS = [
    "evil.example", "evil.example:PORT", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:PORT.evil.example",
    "127.0.0.1.evil.example:PORT", "127.1:PORT", "0.0.0.0:PORT", "[::1]:PORT", "LOCALHOST.:PORT",
    "localhost", "", "localhost:PORT, evil.example",
]  # fmt: skip


def test_a_rebound_name_is_not_answered(page: Page) -> None:
    case = page.ids()[0]
    for host in HOSTS:
        named = host.replace("PORT", str(page.port))
        for path in ("/queue", page.address.partition(page.host)[2]):
            assert page.get(path, Host=named).status == 421, host
        assert page.post(f"/case/{case}/verdict", KEEP, Host=named).status == 421
    assert waits(page) == 2


def test_a_second_host_is_not_answered(page: Page) -> None:
    with socket.create_connection(("127.0.0.1", page.port)) as connection:
        lines = f"GET /queue HTTP/1.1\r\nHost: {page.host}\r\nHost: evil.example\r\n"
        connection.sendall(f"{lines}Cookie: {page.cookie}\r\n\r\n".encode())
        assert connection.recv(100).split()[1] in (b"400", b"421")


FOREIGN = [
    {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}, {"Sec_Fetch_Site": "none"},
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"X_Canon_Token": ""},
    {"X_Canon_Token": "x" * 43}, {"Content_Type": "text/plain"},
    {"Content_Type": "application/x-www-form-urlencoded"},
]  # fmt: skip


def test_a_foreign_page_changes_nothing(page: Page) -> None:
    case = page.ids()[0]
    for path, headers in product(
        (f"/case/{case}/verdict", f"/case/{case}/alike", "/undo"), FOREIGN
    ):
        assert page.post(path, KEEP, **headers).status in (403, 415), headers
    assert waits(page) == 2
    assert page.post(f"/case/{case}/verdict", KEEP).status == 200


def test_a_foreign_page_sees_nothing(page: Page) -> None:
    for site in ("cross-site", "same-site"):
        assert page.get("/queue", Sec_Fetch_Site=site).status == 403
    assert page.get("/queue", Origin="http://evil.example").status == 403
    form = page.send("POST", f"/case/{page.ids()[0]}/verdict", {
        "Host": page.host, "Cookie": page.cookie, "Content-Type": "text/plain",
    }, json.dumps(KEEP).encode())  # fmt: skip
    assert form.status == 403


def test_every_answer_forbids_what_pages_do_not_need(page: Page) -> None:
    case = page.ids()[0]
    answers: list[Answer] = [
        *map(page.get, ("/queue", f"/case/{case}", f"/audio/{case}", "/static/style.css", "/x")),
        page.get("/queue", Cookie=""), page.get("/queue", Host="evil.example"),
        page.post(f"/case/{case}/verdict", KEEP),
    ]  # fmt: skip
    for answer in answers:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Server"] is None
    assert "script" not in page.get(f"/run/{case}").headers["Content-Security-Policy"]


def test_other_methods_change_nothing(page: Page) -> None:
    own = {"Host": page.host, "Cookie": page.cookie, "Sec-Fetch-Site": "same-origin"}
    path = f"/case/{page.ids()[0]}/verdict"
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "HEAD"):
        assert page.send(method, path, own).status in (403, 405), method
    assert waits(page) == 2


BODIES = [
    (b"", 400), (b"{", 400), (b"[]", 400), (b'{"verdict": {"action": "delete"}}', 400),
    (b"\xff", 400), (b'{"verdict": {"action": "keep", "text": 5}}', 400), (b"[" * 9_000, 400),
    (b" " * 16_385, 413),
]  # fmt: skip


def test_an_ill_formed_body_is_refused(page: Page) -> None:
    own = {
        "Host": page.host, "Cookie": page.cookie, "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/json", "X-Canon-Token": page.token,
    }  # fmt: skip
    path = f"/case/{page.ids()[0]}/verdict"
    for body, status in BODIES:
        assert page.send("POST", path, own, body).status == status, body[:40]
    assert waits(page) == 2


def test_a_body_without_a_length_is_not_read_to_its_end(page: Page) -> None:
    lines = [
        "POST /undo HTTP/1.1", f"Host: {page.host}", f"Cookie: {page.cookie}",
        "Sec-Fetch-Site: same-origin", "Content-Type: application/json",
        f"X-Canon-Token: {page.token}", "Transfer-Encoding: chunked", "", "",
    ]  # fmt: skip
    piece = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    with socket.create_connection(("127.0.0.1", page.port), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode())
        with pytest.raises(OSError):  # noqa: PT012 - the server closes the connection
            for _ in range(2_000):
                connection.sendall(piece)
    assert page.get("/queue").status == 200


TAGS = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{7*7}}", "</title>",
        "\u202eevil", "javascript:alert(1)"]  # fmt: skip


def test_tags_cannot_bring_markup(canon: Canon, home: Path, serve: Serve) -> None:
    bundles = open_bundles(len(TAGS))
    for bundle, text in zip(bundles, TAGS, strict=True):
        bundle["recording_title"] = bundle["artist"]["name"] = text
        bundle["recording_candidates"][0]["rg_candidates"][0]["title"] = text
    files = [
        file_of(bundle, home, f"<b>&amp;{number}.flac", artist=text, album=text)
        for number, (bundle, text) in enumerate(zip(bundles, TAGS, strict=True))
    ]
    with MusicBrainzStandIn(bundles) as mb:
        canon("decide", *files, **asking(mb)).must_end(3)
    page = serve().open()
    cases = [f"/case/{case}" for case in page.ids()]
    assert len(cases) == len(TAGS)
    for path in (*cases, "/queue", "/queue?text=%3Cscript%3E", "/queue?artist=%22%3E%3Cimg"):
        shown = page.get(path)
        assert shown.status == 200
        for piece in ("<script>a", "<img", "{49}", "<b>", "\u202e", 'href="javascript'):
            assert piece not in shown.text, (path, piece)


def test_audio_is_that_of_a_decision_alone(page: Page, home: Path) -> None:
    secret = home / "secret.flac"
    secret.write_bytes(b"secret")
    case = page.ids()[0]
    for name in (
        "x", "..", f"..%2f..%2f{secret.name}", f"%2e%2e/{secret}", str(secret), f"{case}/../x",
        f"{case}%00", f"{case}.flac", "%ff", "",
    ):  # fmt: skip
        answer = page.get(f"/audio/{name}")
        assert (answer.status, b"secret" in answer.body) == (404, False)


def test_a_file_that_became_a_link_or_a_pipe_is_not_sent(
    serve: Serve, waiting: Waiting, home: Path
) -> None:
    secret = home / "secret.flac"
    secret.write_bytes(b"secret")
    (file,) = waiting(1)
    page = serve().open()
    (case,) = page.ids()
    whole = page.get(f"/audio/{case}")
    assert (whole.status, whole.body) == (200, file.read_bytes())
    file.unlink()
    assert page.get(f"/audio/{case}").status == 404
    ways = (partial(file.symlink_to, secret), partial(os.mkfifo, file), file.mkdir)
    for make in ways:
        make()
        assert page.get(f"/audio/{case}").status == 404
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
    renamed = file.with_name("song.txt")
    renamed.write_bytes(b"text")
    in_store(home, "UPDATE decisions SET path = ?", os.fsencode(renamed))
    assert page.get(f"/audio/{case}").status == 404


def test_ranges_of_audio(page: Page, home: Path) -> None:
    audio, path = (home / "music" / "0.flac").read_bytes(), f"/audio/{page.ids()[0]}"
    last = len(audio) - 1
    for asked, first, end in (
        ("0-3", 0, 3), ("4-", 4, last), ("-5", last - 4, last), ("0-999999999", 0, last),
    ):  # fmt: skip
        part = page.get(path, Range=f"bytes={asked}")
        kind, span = part.headers["Content-Type"], part.headers["Content-Range"]
        assert (part.status, kind) == (206, "audio/flac")
        assert (span, part.body) == (f"bytes {first}-{end}/{last + 1}", audio[first : end + 1])
    after = page.get(path, Range="bytes=999999999-")
    assert (after.status, after.headers["Content-Range"]) == (416, f"bytes */{last + 1}")
    for wrong in ("bytes=5-2", "bytes=a-b", "lines=0-3", "bytes=", f"bytes={'0-0,' * 5_000}0-0"):
        answer = page.get(path, Range=wrong)
        assert answer.status in (200, 400, 416), wrong
        assert len(answer.body) <= last + 1


def test_only_the_loopback_interface_answers(page: Page) -> None:
    listening = Path("/proc/net/tcp").read_text("ascii")
    addresses = {line.split()[1] for line in listening.splitlines()[1:]}
    port = f"{page.port:04X}"
    assert {address for address in addresses if address.endswith(port)} >= {f"0100007F:{port}"}
    assert f"00000000:{port}" not in addresses


OTHER_COOKIES = [
    'state={"a": 1}', "a@b=1", "flag", "a b=c", "canon-1=x", "expires=1", "NAME=wrong", "=",
    "\xe9=1",
]  # fmt: skip


def test_cookies_of_other_ports_do_not_close_the_page(page: Page) -> None:
    name = page.cookie.partition("=")[0]
    for other in (text.replace("NAME", name) for text in OTHER_COOKIES):
        for cookies in (f"{other}; {page.cookie}", f"{page.cookie};{other}"):
            assert page.get("/queue", Cookie=cookies).status == 200, cookies
        assert page.get("/queue", Cookie=other).status == 403


STRANGE = ["9" * 5_000, "0", "-1", "%C2%B2", "%D9%A3", "1e3", ""]


def test_a_strange_number_of_a_page_is_no_fault(page: Page) -> None:
    for number in STRANGE:
        for place in ("/queue", "/library/files"):
            assert page.get(f"{place}?page={number}").status == 200, number


def test_a_stranger_writes_nothing_on_the_terminal(page: Page) -> None:
    upgrade = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", upgrade.encode()):
        with socket.create_connection(("127.0.0.1", page.port), timeout=10) as connection:
            connection.sendall(data)
            assert connection.recv(100).split()[1] in (b"400", b"421")
    assert page.end() == 3
    assert page.process.stderr
    assert page.process.stderr.read() == b"canon: Ctrl-C ends the server\n"
