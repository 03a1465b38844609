"""A stream is read the same however it is split."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.chat.streaming import events
from corpus import rows


@pytest.mark.parametrize(("text", "data"), rows(__file__, "events"))
def test_an_event_is_its_data(text: bytes, data: list[bytes]) -> None:
    assert list(events([text])) == data
    assert list(events(bytes([each]) for each in text)) == data


LINES = st.sampled_from([b"data: x", b"data:", b": y", b"event: z", b"", b"data: \xc3\xa9", b"e"])
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(LINES, ENDS)), st.lists(st.integers(0, 40)))
def test_events_are_alike_if_split(lines: list[tuple[bytes, bytes]], sizes: list[int]) -> None:
    text = b"".join(line + end for line, end in lines)

    def pieces() -> Iterator[bytes]:
        at = 0
        for size in sizes:
            yield text[at : at + size]
            at += size
        yield text[at:]

    assert list(events(pieces())) == list(events([text]))
