"""Server-sent events, however they are split."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.chat.streaming import events


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (b"data: one\n\ndata: two\n\n", [b"one", b"two"]),
        (b"data:one\n\n", [b"one"]),
        (b"data:  one\n\n", [b" one"]),
        (b"data: one\r\n\r\ndata: two\r\n\r\n", [b"one", b"two"]),
        (b"data: one\r\rdata: two\r\r", [b"one", b"two"]),
        (b"data: one\ndata: two\n\n", [b"one\ntwo"]),
        (b"data\n\n", [b""]),
        (b": a comment\n\ndata: one\n: another\n\n", [b"one"]),
        (b"event: error\nid: 7\nretry: 10\ndata: one\n\n", [b"one"]),
        (b"\xef\xbb\xbfdata: one\n\n", [b"one"]),
        (b'error: {"code":500}\n\n', [b'{"code":500}']),
        (b"data: no empty line at the end\n", [b"no empty line at the end"]),
        (b"data: nor the end of the line", [b"nor the end of the line"]),
        ("data: a\u2028b\u0085c\x0bd\n\n".encode(), ["a\u2028b\u0085c\x0bd".encode()]),
        (b"\n\n\n", []),
        (b"", []),
        (b"what is this", []),
    ],
)
def test_an_event_is_its_data(text: bytes, data: list[bytes]) -> None:
    assert list(events([text])) == data
    assert list(events(bytes([each]) for each in text)) == data


LINES = st.sampled_from([b"data: x", b"data:", b": y", b"event: z", b"", b"data: \xc3\xa9", b"e"])
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(LINES, ENDS)), st.lists(st.integers(0, 40)))
def test_events_are_the_same_however_they_are_split(
    lines: list[tuple[bytes, bytes]], sizes: list[int]
) -> None:
    text = b"".join(line + end for line, end in lines)

    def pieces() -> Iterator[bytes]:
        at = 0
        for size in sizes:
            yield text[at : at + size]
            at += size
        yield text[at:]

    assert list(events(pieces())) == list(events([text]))


def test_an_event_is_given_as_soon_as_it_ends() -> None:
    heard = []

    def pieces() -> Iterator[bytes]:
        yield b"data: one\n\n"
        heard.append("asked for more")
        yield b"data: two\n\n"

    first = next(events(pieces()))
    assert (first, heard) == (b"one", [])
