"""What is not on the public internet is not asked, however it is spelled."""

import contextlib
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.config import FetchConfig
from chart_binder.errors import AddressForbiddenError, ConfigError, FetchError
from chart_binder.web.guard import Guard
from corpus import rows

GUARD = Guard.of(FetchConfig())


@pytest.mark.parametrize(("url", "words"), rows(__file__, "forbidden"))
def test_a_forbidden_address_is_refused_with_the_reason(url: str, words: str) -> None:
    with pytest.raises(AddressForbiddenError, match=words):
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
    assert not isinstance(raised.value, AddressForbiddenError)
    assert len(str(raised.value)) < 200
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(("written", "asked"), rows(__file__, "addresses"))
def test_an_ordinary_address_is_taken_as_models_write_it(written: str, asked: str) -> None:
    assert str(GUARD.target(written)) == asked


@given(st.text(max_size=60) | st.text("htps:/@.#?[]%012xa-_\\ \t\u3002\u0661\u202e", max_size=40))
def test_whatever_is_written_is_an_address_or_one_error(written: str) -> None:
    for text in (written, f"http://{written}"):
        with contextlib.suppress(FetchError):
            assert GUARD.target(text).scheme in {"http", "https"}


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
        with pytest.raises(AddressForbiddenError):
            guard.target(other)


@pytest.mark.parametrize("entry", ["10.0.0.0/33", "http://wiki.lan/", "wiki.lan:8080", "*.lan"])
def test_an_entry_that_can_allow_nothing_is_an_error(entry: str) -> None:
    with pytest.raises(ConfigError, match="allow_private_hosts"):
        Guard.of(FetchConfig(allow_private_hosts=(entry,)))
