"""A page is read within its bounds, or one sentence says why not."""

import contextlib
import gzip
import ipaddress
import ssl
import time
import tracemalloc
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from chart_binder.config import FetchConfig
from chart_binder.errors import FetchError, UnknownHostError
from chart_binder.web.fetch import MOST_REDIRECTS, PageFetcher
from chart_binder.web.transport import Resolve, resolve_by_system
from servers.http import Repeated, Response, StandIn
from servers.pages import (
    Pages,
    deflate_bomb,
    dripping_body,
    dripping_head,
    endless_head,
    endless_hints,
    gzip_bomb,
    huge,
    redirect,
)
from servers.tls import make_certificate, served_with


def fetcher(
    server: StandIn, *, timeout_s: float = 5.0, max_bytes: int = 2_000_000,
    private: tuple[str, ...] = ("127.0.0.1",), resolve: Resolve = resolve_by_system,
    trust: ssl.SSLContext | None = None,
) -> PageFetcher:  # fmt: skip
    config = FetchConfig(
        timeout_s=timeout_s, max_bytes=max_bytes, allow_private_hosts=private,
        ports=(server.port,),
    )  # fmt: skip
    return PageFetcher(config, resolve=resolve, trust=trust)


def leading_to(*addresses: str) -> Resolve:
    return lambda host, port: tuple(ipaddress.ip_address(address) for address in addresses)


def test_a_page_is_read_with_its_title_and_final_address() -> None:
    page = "<title>Sheer Heart Attack</title><p>Released 8 November 1974."
    with Pages({"/old": redirect("/new#part", 301), "/new": page}) as server:
        read = fetcher(server).fetch(f"{server.url}/old")
    assert (read.url, read.requested_url) == (f"{server.url}/new", f"{server.url}/old")
    assert (read.title, read.extract.blocks) == (
        "Sheer Heart Attack",
        ("Released 8 November 1974.",),
    )
    assert read.sources == (read.url, read.requested_url)
    assert not read.cut
    headers = server.requests[1].headers
    assert headers["user-agent"].startswith("canon/")
    assert headers.keys().isdisjoint({"cookie", "referer"})


@pytest.mark.parametrize(("content_type", "body", "text"), [
    ("text/html", "<p>Björk".encode(), "Björk"),
    ("text/html", '<meta charset="shift_jis"><p>椎名林檎'.encode("shift_jis"), "椎名林檎"),
    ("text/html; charset=utf-16", "\ufeff<p>Björk".encode("utf-16-le"), "Björk"),
    ("text/html; charset=punycode", "<p>Björk".encode(), "Björk"),
    ("text/plain", b"<p>one\ntwo", "‹p›one\ntwo"),
    ("application/json", b'{"on": "1974-11-08"}', "on: 1974-11-08"),
    ("application/xml", b"<r><on>1974</on></r>", "1974"), ("", b"<p>no type", "no type"),
    ("", b"no type", "no type"),
])  # fmt: skip
def test_text_is_read_in_its_characters(content_type: str, body: bytes, text: str) -> None:
    with Pages({"/": Response(body, content_type=content_type)}) as server:
        read = fetcher(server).fetch(server.url)
    assert "\n".join(read.extract.blocks) == text


@pytest.mark.parametrize(("answer", "words"), [
    (Response("x", 404), "answered 404 Not Found"),
    (Response(b"%PDF", content_type="application/pdf"), "sent application/pdf"),
    (Response(b"x", content_type="text/html/x"), "sent text/html/x"),
    (Response(b"x", content_type="image/png, text/html"), "sent image/png, text/html"),
    (Response(b"\x89PNG\r\n\0\0\0", content_type="text/html"), "not text"),
    (Response(b"\0\1\2", content_type=""), "not text"),
    (Response(b"x", headers=(("Content-Encoding", "br"),)), "cannot be unpacked"),
    (Response(b"not packed", headers=(("Content-Encoding", "gzip"),)), "cannot be unpacked"),
    (Response(b"x" * 100, drop_after=10), "interrupted the answer"),
    (Response(raw=b"SSH-2.0-OpenSSH\r\n"), "does not speak HTTP"),
    (Response("", 302, headers=(("Location", "http://[::1"),)), "does not speak HTTP"),
    (Response("", 302, headers=(("Location", "file:///etc/passwd"),)), "only http and https"),
    (endless_head(), "does not speak HTTP"),
])  # fmt: skip
def test_every_failure_is_one_sentence_without_internals(answer: Response, words: str) -> None:
    with Pages({"/": answer}) as server, pytest.raises(FetchError) as raised:
        fetcher(server).fetch(server.url)
    assert words in str(raised.value)
    assert not any(inner in str(raised.value) for inner in ("httpx", "Error(", "\n", "errno"))


HELLO = Response(raw=b"\x16\x03\x03\x40\x00" + b"\x02" * 1_000, drip=(1, 0.05))
LATE = {
    "silent": Response("late", delay_s=60),
    "dripping body": dripping_body(), "dripping head": dripping_head(), "hints": endless_hints(),
    "stalled": Response("<p>x", headers=(("Content-Length", "1000"),), drip=(1, 60)),
    "redirects": Response("", 302, headers=(("Location", "/"),), delay_s=0.2),
    "dripping handshake": HELLO,
}  # fmt: skip


@pytest.mark.parametrize("answer", LATE.values(), ids=LATE)
def test_the_deadline_holds_however_the_time_is_spent(answer: Response) -> None:
    started = time.monotonic()
    with Pages({"*": answer}) as server:
        url = server.url.replace("http:", "https:") if answer is HELLO else server.url
        with pytest.raises(FetchError):
            fetcher(server, timeout_s=0.5).fetch(url)
    assert time.monotonic() - started < 1.5


def test_the_deadline_holds_for_a_resolver_that_never_answers() -> None:
    def asleep(host: str, port: int) -> Sequence[ipaddress.IPv4Address]:
        time.sleep(2)
        return ()

    started = time.monotonic()
    with Pages({}) as server, pytest.raises(FetchError, match="did not answer"):
        fetcher(server, timeout_s=0.3, resolve=asleep).fetch(f"http://a.example:{server.port}/")
    assert time.monotonic() - started < 1.3


@pytest.mark.parametrize(
    "answer", [huge(300), gzip_bomb(300), deflate_bomb(300)], ids=["huge", "gzip", "deflate"]
)
def test_what_is_too_much_is_cut_before_it_costs_memory(answer: Response) -> None:
    with Pages({"/": answer}) as server:
        reader = fetcher(server)
        tracemalloc.start()
        with contextlib.suppress(FetchError):  # unpacked zeros are not text
            assert reader.fetch(server.url).cut
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"<p>hel") + gzip.compress(b"lo")),
        ("gzip", gzip.compress(b"<p>hello") + b"\0" * 8),
        ("gzip", gzip.compress(b"<p>hello" + b" " * 200_000)),
        ("x-gzip", gzip.compress(b"<p>hello")), ("deflate", zlib.compress(b"<p>hello")),
        ("deflate", zlib.compress(b"<p>hello")[2:-4]), ("identity", b"<p>hello"),
    ],
    # What gzip packs holds the time: as names of tests, bytes would differ from worker to worker.
    ids=["members", "padded", "long", "x-gzip", "zlib", "raw", "plain"],
)  # fmt: skip
def test_a_packed_page_is_unpacked(encoding: str, body: bytes) -> None:
    answer = Response(body, headers=(("Content-Encoding", encoding),))
    with Pages({"/": answer}) as server:
        assert fetcher(server).fetch(server.url).extract.blocks == ("hello",)


@pytest.mark.parametrize("short", [0, 1, 30])
def test_a_packed_page_that_breaks_off_is_cut(short: int) -> None:
    packed = gzip.compress("".join(f"<p>{n * 7919}" for n in range(500)).encode())
    answer = Response(packed[: len(packed) - short], headers=(("Content-Encoding", "gzip"),))
    with Pages({"/": answer}) as server:
        assert fetcher(server).fetch(server.url).cut == bool(short)


def test_what_arrives_is_bounded_even_where_it_unpacks_to_little() -> None:
    empty = Repeated(gzip.compress(b"") * 1_000)
    answer = Response(empty, headers=(("Content-Encoding", "gzip"),))
    with Pages({"/": answer}) as server:
        assert fetcher(server, max_bytes=100_000).fetch(server.url).cut


def test_redirects_end() -> None:
    with Pages({"*": redirect("/again")}) as server, pytest.raises(FetchError, match="redirects"):
        fetcher(server).fetch(server.url)
    assert len(server.requests) == MOST_REDIRECTS + 1


def test_a_second_address_is_tried_where_the_first_does_not_answer() -> None:
    with Pages({"*": "<p>hello"}) as server:
        reading = fetcher(
            server, private=("127.0.0.0/8",), resolve=leading_to("127.0.0.99", "127.0.0.1")
        )
        assert reading.fetch(f"http://a.example:{server.port}/").extract.blocks == ("hello",)


def test_an_unknown_host_is_said() -> None:
    def knows_none(host: str, port: int) -> Sequence[ipaddress.IPv4Address]:
        raise UnknownHostError(f"there is no host called {host!r}")

    with Pages({}) as server, pytest.raises(FetchError, match=r"no host called 'gone\.example'"):
        fetcher(server, resolve=knows_none).fetch(f"http://gone.example:{server.port}/")


def test_the_system_resolves_localhost_and_no_name_that_it_cannot_encode() -> None:
    assert all(address.is_loopback for address in resolve_by_system("localhost", 80))
    with pytest.raises(UnknownHostError):
        resolve_by_system("a" * 70 + ".example", 80)


def test_https_is_verified_against_the_name_and_not_the_address(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path, "DNS:wiki.example")
    trust = ssl.create_default_context(cafile=certificate)
    served = Pages({"*": "<p>secure"})
    served.tls = served_with(certificate)
    with served as server:
        reading = fetcher(server, resolve=leading_to("127.0.0.1"), trust=trust)
        assert reading.fetch(f"https://wiki.example:{server.port}/").extract.blocks == ("secure",)
        distrusting = fetcher(server, resolve=leading_to("127.0.0.1"))
        for asks, host in (
            (reading, "other.example"), (reading, "127.0.0.1"), (distrusting, "wiki.example")
        ):  # fmt: skip
            with pytest.raises(FetchError, match="certificate"):
                asks.fetch(f"https://{host}:{server.port}/")
