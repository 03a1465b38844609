"""The answers of hostile servers in place of a page, and a server that gives them."""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hostile.harness import Fetching, Measuring, Outcome
from servers.http import Repeated, Request, Response, StandIn
from servers.pages import deflate_bomb, gzip_bomb, huge, raw_deflated, redirect

Serve = Callable[[Request], Response]

_OK = b"HTTP/1.1 200 OK\r\n"
_HTML = b"Content-Type: text/html\r\n"
_CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
_MB = 1_000_000
FAST_S, PATIENT_S = 0.4, 4.0
"""Deadlines: of an answer that never ends, and of one that has to come before it."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """One hostile answer; `may` are the results that a fetch of it may have."""

    serve: Serve
    may: frozenset[str]
    timeout_s: float = PATIENT_S


def read(response: Response) -> Hostile:
    """Expect a page, or the beginning of one."""
    return Hostile(lambda _: response, frozenset({"read"}))


def failed(response: Response) -> Hostile:
    """Expect an error."""
    return Hostile(lambda _: response, frozenset({"failed", "refused"}))


def ends(response: Response) -> Hostile:
    """Expect an end, whatever it is."""
    return Hostile(lambda _: response, frozenset({"failed", "read"}))


def waits(response: Response) -> Hostile:
    """Expect that the deadline cuts it off."""
    return Hostile(lambda _: response, frozenset({"failed"}), FAST_S)


def _raw(*parts: bytes, drip: tuple[int, float] | None = None) -> Response:
    return Response(raw=b"".join(parts), drip=drip)


def _packed(body: bytes, encoding: str) -> Response:
    return Response(body, headers=(("Content-Encoding", encoding),))


def _typed(body: str | bytes | Repeated, content_type: str) -> Response:
    return Response(body, content_type=content_type)


def _location(url: str, status: int = 302) -> Response:
    return Response("", status, headers=(("Location", url),))


def _page(headers: bytes) -> Response:
    return _raw(_OK, _HTML, headers, b"\r\n\r\n<p>x")


def _billion_laughs() -> str:
    entities = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(12))
    return f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">{entities}]><x>&l12;</x>'


TIME: Mapping[str, Hostile] = {
    "the status line drips": waits(_raw(_OK * 50, drip=(1, 0.1))),
    "a packed body drips": waits(
        Response(
            gzip.compress(bytes(range(256)) * 50), drip=(1, 0.05),
            headers=(("Content-Encoding", "gzip"),),
        )
    ),
    "a chunk's size drips": waits(_raw(_OK, _CHUNKED, b"0" * 900, drip=(1, 0.05))),
    "trailers drip": waits(
        _raw(_OK, _CHUNKED, b"1\r\nx\r\n0\r\n",
                       b"X-T: 1\r\n" * 900, drip=(6, 0.05))
    ),
    "an error page drips": waits(Response("x" * 900, 500, drip=(1, 0.05))),
}  # fmt: skip
"""Servers that are slow, or never come to an end."""

SIZE: Mapping[str, Hostile] = {
    "300 MB of a page": read(huge(300)),
    "300 MB without a line end": read(Response(Repeated(b"words " * 20_000, 2_500))),
    "300 MB of JSON": read(
        _typed(Repeated(b'{"a": 1},' * 12_000, 3_000, b"["), "application/json")
    ),
    "300 MB packed by gzip": read(gzip_bomb(300)),
    "300 MB packed by deflate": ends(deflate_bomb(300)),
    "300 MB packed by raw deflate": ends(_packed(raw_deflated(b"<p>x" * 250_000, 300), "deflate")),
    "a bomb in a bomb": failed(_packed(gzip.compress(gzip.compress(b" " * 9 * _MB)), "gzip, gzip")),
    "a bomb packed in two ways": failed(_packed(gzip.compress(b"x"), "deflate, gzip")),
    "brotli, which nobody asked for": failed(_packed(b"\x1b\x00\x00", "br")),
    "gzip whose name never ends": ends(
        _packed(b"\x1f\x8b\x08\x08\0\0\0\0\0\xff" + b"n" * (3 * _MB), "gzip")
    ),
    "ten thousand members of gzip": read(_packed(gzip.compress(b"<p>member") * 10_000, "gzip")),
    "a length that is too long": failed(_page(b"Content-Length: 9999")),
    "a length that is too short": ends(
        _raw(_OK, _HTML, b"Content-Length: 4\r\n\r\n<p>xHTTP/1.1 200 OK\r\n\r\n<p>second")
    ),
    "a length of 10 TB": failed(_page(b"Content-Length: 10000000000000")),
    "two lengths": failed(_page(b"Content-Length: 4\r\nContent-Length: 9")),
    "a length and chunks": ends(
        _raw(_OK, _HTML, b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    ),
    "a chunk of 16 EB": ends(_raw(_OK, _HTML, _CHUNKED, b"ffffffffffffffff\r\n<p>x")),
    "a chunk whose size never ends": ends(_raw(_OK, _HTML, _CHUNKED, b"1" * (3 * _MB))),
    "a chunk extension of 3 MB": ends(
        _raw(_OK, _HTML, _CHUNKED, b"4;", b"e" * (3 * _MB), b"\r\n<p>x\r\n")
    ),
    "a million chunks of a byte": ends(_raw(_OK, _HTML, _CHUNKED, b"1\r\nx\r\n" * 300_000)),
    "trailers by the megabyte": ends(
        _raw(_OK, _HTML, _CHUNKED, b"1\r\nx\r\n0\r\n", b"X-T: 1\r\n" * 300_000)
    ),
    "headers by the megabyte": failed(_raw(_OK, b"X-More: and more\r\n" * 200_000)),
    "a status line of 5 MB": failed(_raw(b"HTTP/1.1 200 ", b"O" * (5 * _MB), b"\r\n\r\n<p>x")),
    "ten thousand cookies": ends(_raw(_OK, b"Set-Cookie: a=b; Domain=.com\r\n" * 900, b"\r\n<p>x")),
    "hints without end": failed(_raw(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100_000)),
    "an address of 100 KB to go to": failed(_location("/" + "a" * 50_000)),
}  # fmt: skip
"""Servers that send too much, or lie about how much."""

SHAPE: Mapping[str, Hostile] = {
    "100,000 nested elements": read(Response("<div>" * 100_000 + "deep" + "</div>" * 100_000)),
    "100,000 nested tables": read(Response("<table><tr><td>" * 33_000 + "deep")),
    "nested headings": read(Response("<h1>" * 100_000 + "deep")),
    "nested hidden elements": ends(Response("<div hidden>" * 100_000 + "deep")),
    "nested formatting": read(Response("<b><i><font>" * 60_000 + "deep")),
    "wrongly nested formatting": read(Response("<b><p><i></b></p></i>x" * 60_000)),
    "200,000 rows": read(Response("<table>" + "<tr><td>1974<td>x" * 100_000)),
    "a row of 200,000 cells": read(Response("<table><tr>" + "<td>1974" * 200_000)),
    "a table spanned without end": read(
        Response('<table><tr><td rowspan="9999999" colspan="9999999">x</table>')
    ),
    "a million tags": read(Response("<p>" * 600_000 + "x")),
    "an attribute of 2 MB": read(Response('<p title="' + "a" * 1_900_000 + '">x')),
    "an attribute that never ends": ends(Response('<p>x<p title="' + "a<b>" * 450_000)),
    "a tag of 200,000 attributes": read(Response("<p " + 'a="b" ' * 200_000 + ">x")),
    "a tag of nothing but spaces": ends(Response("<p" + " " * 1_900_000)),
    "a style of 2 MB": read(
        Response('<p style="' + "display:" * 200_000 + '">x' + '<p style="opacity:0' * 9_000)
    ),
    "a comment that never ends": ends(Response("<p>x<!--" + "-" * 1_900_000)),
    "declarations begun without end": ends(Response("<p>x" + "<!" * 900_000)),
    "CDATA begun without end": ends(Response("<p>x" + "<![CDATA[" * 200_000)),
    "scripts begun without end": ends(Response("<p>x" + "<script>" * 200_000)),
    "nothing but <": ends(Response("<" * 1_900_000)),
    "nothing but &": ends(Response("&" * 1_900_000)),
    "entities that never end": ends(Response("&#" + "1" * 1_900_000)),
    "a million entities": ends(Response("&amp;&lt;&#x31;" * 120_000)),
    "a title of 2 MB": ends(Response("<title>" + "t" * 1_900_000)),
    "200,000 dates of publication": ends(
        Response('<meta name="date" content="1974">' * 50_000 + "x")
    ),
    "a word of 2 MB": ends(Response("<p>" + "a" * 1_900_000)),
    "a sentence of 2 MB": ends(Response("<p>" + "and then " * 210_000)),
    "300,000 different words": ends(Response("<p>" + " ".join(map(str, range(270_000))))),
    "lines of one letter": ends(_typed("a\nb\n" * 450_000, "text/plain")),
    "a table of bars": ends(_typed("a | b | c\n" * 180_000, "text/plain")),
    "nothing but years": ends(Response("<p>" + "1974-" * 380_000)),
    "nothing but accents": ends(Response("<p>a" + "\u0301" * 900_000)),
    "letters that unfold": ends(Response("<p>" + "\ufdfa" * 600_000)),
    "letters nobody sees": ends(Response("<p>" + "\u200b\u202e\U000e0041" * 200_000)),
    "labels without end": ends(Response("<p>" + "Observation: " * 140_000)),
    "tokens without end": ends(Response("<p>" + "&lt;|im_start|&gt;" * 100_000)),
    "spaces behind an angle": ends(Response("<p>" + "&lt;    " * 200_000)),
    "JSON 100,000 deep": ends(_typed("[" * 100_000 + "]" * 100_000, "application/json")),
    "a list of 150,000 numbers": ends(_typed(json.dumps(list(range(40_000))), "application/json")),
    "a number of 200,000 digits": ends(_typed("1" * 200_000, "application/json")),
    "100,000 empty objects": ends(_typed("[" + "{}," * 99_000 + "{}]", "application/json")),
    "a billion laughs": ends(_typed(_billion_laughs(), "application/xml")),
    "an entity from a file": ends(
        _typed('<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>', "text/xml")
    ),
    "XML 100,000 deep": ends(_typed("<a>" * 100_000 + "x", "application/xml")),
    **{
        f"300 kB of {name}": ends(Response(piece * (300_000 // len(piece))))
        for name, piece in {
            "ends": "</",
            "mixed quotes": "<a x=\"' y='\" ",
            "stars": "user****",
            "spans": "<table><tr><td rowspan=99>x",
            "wide spans": "<tr>" + "<td rowspan=99>x" * 50,
            "times": "<time datetime=1974>x",
            "colons": "<p>x:",
            "styles": "<p style='color:white;transform:scale(1,scale(1,'>x",
            "spaced styles": "<p style='font:a " + "a " * 400 + "'>x",
            "sheets": "<style>.x{display:none}",
        }.items()
    },
    "XML of empty elements": ends(_typed("<a x=1/>" * 30_000, "application/xml")),
    "XML of pages": ends(_typed("<![CDATA[<p>]]>" * 20_000, "application/xml")),
    "CSV of quotes": ends(_typed('"' * 1_900_000, "text/csv")),
}
"""Pages that are cheap to send and dear to read."""

KIND: Mapping[str, Hostile] = {
    **{
        f"of type {kind}": failed(_typed(b"%PDF-1.7 <p>x", kind))
        for kind in (
            "application/pdf", "application/octet-stream", "application/zip", "image/png",
            "image/svg+xml", "audio/mpeg", "video/mp4", "multipart/x-mixed-replace; boundary=x",
            "application/x-sh", "text/javascript", "text/css", "font/woff2", "message/rfc822",
            "application/vnd.ms-excel", "text/html-not-quite", "a" * 5_000 + "/b",
        )
    },
    "a picture called a page": failed(Response(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 500)),
    "a program called text": failed(_typed(b"\x7fELF\2\1\1\0" + b"\0" * 500, "text/plain")),
    "a type that is no type": ends(_typed("<p>x", "nonsense")),
    "two types": ends(
        Response("<p>x", headers=(("Content-Type", "text/html"), ("Content-Type", "image/png")))
    ),
    **{
        f"in the characters {label}": ends(
            _typed(b"<p>+ADw-script+AD4- x \xff\xfe", f"text/html; charset={label}")
        )
        for label in (
            "utf-7", "idna", "punycode", "rot13", "zip", "zlib", "hex", "base64", "bz2", "uu",
            "unicode_escape", "raw_unicode_escape", "undefined", "utf-16", "utf-32", "mbcs",
            "../../etc/passwd", '"', "utf-8\\x00", "a" * 2_000,
        )
    },
    "UTF-16 that a page declares of itself": ends(Response(b'<meta charset="utf-16"><p>x' * 50)),
    "HTTP/0.9": failed(_raw(b"<html><p>x</html>")),
    "HTTP/2 without being asked": failed(_raw(b"\0\0\x12\x04\0\0\0\0\0" + b"\0" * 18)),
    "no status": failed(_raw(b"HTTP/1.1\r\n\r\n<p>x")),
    "a status of 99999": failed(_raw(b"HTTP/1.1 99999 OK\r\n\r\n<p>x")),
    "switching protocols": failed(_raw(b"HTTP/1.1 101 Switching Protocols\r\n\r\n<p>x")),
    "a header without a colon": failed(_raw(_OK, b"nonsense\r\n\r\n<p>x")),
    "a header folded": ends(_raw(_OK, b"X-A: b\r\n\tc\r\n\r\n<p>x")),
    "a header with NUL": failed(_raw(_OK, b"X-A: b\0c\r\n\r\n<p>x")),
    "lines ended by LF alone": ends(_raw(b"HTTP/1.1 200 OK\nContent-Length: 4\n\n<p>x")),
    "a shell": failed(_raw(b"SSH-2.0-OpenSSH_9.6\r\n")),
    "hanging up at once": failed(_raw(b"")),
    "hanging up in the body": failed(Response("x" * 900, drop_after=10)),
    "hanging up in a chunk": failed(_raw(_OK, _CHUNKED, b"ff\r\n<p>x")),
    "not modified": failed(_raw(b"HTTP/1.1 304 Not Modified\r\n\r\n")),
    "a part": ends(Response("<p>x", 206)),
    "a password wanted": failed(
        Response("<p>x", 401, headers=(("WWW-Authenticate", "Basic realm=x"),))
    ),
}  # fmt: skip
"""Servers that send what is no page, or do not speak HTTP."""

ONWARD: Mapping[str, Hostile] = {
    "to itself": failed(redirect("/")),
    "to nowhere": failed(_location("")),
    "by the page itself": read(
        Response('<meta http-equiv="refresh" content="0;url=http://127.0.0.1/"><p>x')
    ),
    "by a header": read(Response("<p>x", headers=(("Refresh", "0;url=http://127.0.0.1/"),))),
    "in two directions": failed(
        Response("", 302, headers=(("Location", "file:///a"), ("Location", "/b")))
    ),
    "with a choice": failed(_location("/", 300)),
    "to a name of 300 characters": failed(_location("http://" + "a." * 150 + "example/")),
    "to a proxy": failed(_location("http://10.0.0.1/", 305)),
}
"""Servers that send on."""

ANSWERS: Mapping[str, Hostile] = {
    f"{group}: {name}": hostile
    for group, hostiles in (
        ("time", TIME), ("size", SIZE), ("shape", SHAPE), ("kind", KIND), ("onward", ONWARD)
    )
    for name, hostile in hostiles.items()
}  # fmt: skip


class HostileServer(StandIn):
    """A server whose answer can be changed between requests."""

    def __init__(self) -> None:
        self.serve = ANSWERS["kind: hanging up at once"].serve
        super().__init__(self._answer)

    def _answer(self, request: Request) -> Response:
        return self.serve(request)

    def fetched(self, hostile: Hostile, fetch: Measuring) -> Outcome:
        """Fetch one hostile answer, and return what that cost."""
        self.serve = hostile.serve
        host, ports = "hostile.example", (self.port,)
        url = f"http://{host}:{self.port}/"
        return fetch(Fetching(url, ports, hostile.timeout_s, {host: [["127.0.0.1"]]}, (host,)))
