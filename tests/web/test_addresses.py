"""What is not on the public internet is not asked, however it is spelled."""

import contextlib
from ipaddress import ip_address

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.config import FetchConfig
from chart_binder.errors import ConfigError, FetchError, RefusedError
from chart_binder.web.guard import Guard, is_public

GUARD = Guard.of(FetchConfig())
PUBLIC = ["8.8.8.8", "1.1.1.1", "193.0.6.139", "2606:4700::1111", "64:ff9b::8.8.8.8"]
NOT_PUBLIC = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1",
    "127.255.255.254", "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255",
    "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.7",
    "203.0.113.7", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "::",
    "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8",
    "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1",
    "2002:7f00:1::", "2002:808:808::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254",
    "fe80::1", "fe80::1%1", "fec0::1", "ff02::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_an_ordinary_address_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_a_special_address_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))
    with pytest.raises(RefusedError):
        GUARD.target(f"http://{f'[{address}]' if ':' in address else address}/")


INTERNAL = (
    "localhost LOCALHOST. a.localhost localhost.localdomain router wiki.local wiki.lan wiki.intra"
    " wiki.home.arpa intranet.corp api.default.svc db.cluster wiki.test hidden.onion db.internal"
)


@pytest.mark.parametrize("host", INTERNAL.split())
def test_a_name_of_an_inner_network_is_refused(host: str) -> None:
    with pytest.raises(RefusedError, match="it is not a name of the public internet"):
        GUARD.target(f"http://{host}/")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://user:password@example.org/", "the address holds a user name"),
        ("http://example.org:8080/", "port 8080 is not allowed"),
        ("ftp://example.org/", "only http and https can"),
        ("file:///etc/passwd", "only http and https can"),
        ("http://0x7f.1/", "it is an address in disguise"),
        ("http://127.0.0.1./", "it is not on the public internet"),
    ],
)
def test_a_forbidden_address_is_refused_with_the_reason(url: str, words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        GUARD.target(url)


@pytest.mark.parametrize(
    "url",
    [
        "  ", "http://exa mple.org/", "http://loc\u00adalhost/", "http://" + "a" * 64 + ".org/",
        "http://example.org/\x00", "https://example.org/" + "a" * 3_000, "http:///path",
        "http://example..org/", "http://example.org:port/", "http://[::1/",
    ],
)  # fmt: skip
def test_what_is_no_address_is_said_to_be_none(url: str) -> None:
    with pytest.raises(FetchError) as raised:
        GUARD.target(url)
    assert not isinstance(raised.value, RefusedError)
    assert len(str(raised.value)) < 200
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c"),
        ("HTTP://EXAMPLE.ORG", "http://example.org"),
        ("http://example.org.:80/", "http://example.org/"),
        ("https://example.org/a/../x", "https://example.org/x"),
        ("  <https://example.org/x>\n", "https://example.org/x"),
        ("`https://example.org/x`", "https://example.org/x"),
        ("en.wikipedia.org/wiki/Queen", "https://en.wikipedia.org/wiki/Queen"),
        ("//example.org/x", "https://example.org/x"),
        ("example.org:443/x", "https://example.org/x"),
        (
            "https://ja.wikipedia.org/wiki/椎名林檎",
            "https://ja.wikipedia.org/wiki/%E6%A4%8E%E5%90%8D%E6%9E%97%E6%AA%8E",
        ),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
    ],
)
def test_an_ordinary_address_is_taken_as_models_write_it(written: str, asked: str) -> None:
    assert str(GUARD.target(written)) == asked


@given(st.text(max_size=60) | st.text("htps:/@.#?[]%012xa-_\\ \t\u3002\u0661\u202e", max_size=40))
def test_whatever_is_written_is_an_address_or_one_error(written: str) -> None:
    for text in (written, f"http://{written}"):
        with contextlib.suppress(FetchError):
            assert GUARD.target(text).scheme in {"http", "https"}


def test_a_redirect_is_read_against_the_page_it_came_from() -> None:
    base = httpx.URL("https://example.org/a/b")
    assert str(GUARD.target("../c", base)) == "https://example.org/c"
    assert str(GUARD.target("//other.example.org/d", base)) == "https://other.example.org/d"
    with pytest.raises(RefusedError):
        GUARD.target("//127.0.0.1/d", base)


def test_one_private_answer_among_public_ones_spoils_them() -> None:
    with pytest.raises(RefusedError):
        GUARD.admit("example.org", [ip_address("8.8.8.8"), ip_address("10.0.0.1")])


@pytest.mark.parametrize(
    ("allowed", "url"),
    [
        ("wiki.lan", "http://wiki.lan/"), ("Wiki.Lan.", "http://wiki.lan/"),
        ("router", "http://router/"), ("192.168.1.5", "http://192.168.1.5/"),
        ("192.168.0.0/16", "http://192.168.1.5/"), ("[fd00::5]", "http://[fd00::5]/"),
        ("fd00::/8", "http://[fd00::5]/"),
    ],
)  # fmt: skip
def test_a_private_host_can_be_allowed(allowed: str, url: str) -> None:
    guard = Guard.of(FetchConfig(allow_private_hosts=(allowed,)))
    guard.admit(guard.target(url).host, [ip_address("192.168.1.5")] if "." in url else [])
    for other in ("http://192.169.1.5.lan/", "http://10.0.0.1/", "http://[fe80::5]/"):
        with pytest.raises(RefusedError):
            guard.target(other)


@pytest.mark.parametrize("entry", ["10.0.0.0/33", "http://wiki.lan/", "wiki.lan:8080", "*.lan"])
def test_an_entry_that_can_allow_nothing_is_an_error(entry: str) -> None:
    with pytest.raises(ConfigError, match="allow_private_hosts"):
        Guard.of(FetchConfig(allow_private_hosts=(entry,)))
