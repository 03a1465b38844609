"""A stream is read the same however it is split, and ends where nothing more counts."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.chat.streaming import LINE_START, ReplyCutter, events
from chart_binder.react.conversation import StopCheck
from corpus import rows


@dataclass
class AtX:
    """A `StopCheck` where a line begins with x; remembers what it was asked."""

    looked_at: list[str] = field(default_factory=list)
    read: int = 0

    def __call__(self, line: str, text: Callable[[], str]) -> bool:
        self.looked_at.append(line)
        before = text() if line.startswith("x") else ""
        self.read += len(before)
        return "a" in before


def cut_text(enough: StopCheck, *pieces: str) -> str | None:
    cut = ReplyCutter(enough)
    heard = [cut.pass_on(piece) for piece in pieces]
    text = "".join([*heard, cut.held_back()])
    assert cut.has_cut or text == "".join(pieces)
    return text if cut.has_cut else None


@pytest.mark.parametrize(
    ("pieces", "left"),
    [
        (("a\nx\nb",), "a"), (("a", "\n", "x", "y", "\n", "b"), "a"), (("a\nx",), None),
        (("a\n" + "x" * LINE_START,), "a"), (("a\n", *"x" * LINE_START), "a"), (("a\nbx\n",), None),
        (("x\na\nx\n",), "x\na"), (("a\n\n\nx\n",), "a\n\n"), (("",), None),
    ],
)  # fmt: skip
def test_a_line_is_read_when_it_is_whole_or_long(pieces: tuple[str, ...], left: str | None) -> None:
    assert cut_text(AtX(), *pieces) == left


@given(st.text("ax\n", max_size=30), st.sets(st.integers(0, 30)))
def test_the_cut_is_the_same_however_the_text_is_split(text: str, at: set[int]) -> None:
    bounds = sorted({0, len(text), *(each for each in at if each < len(text))})
    pieces = [text[start:end] for start, end in pairwise(bounds)]
    assert cut_text(AtX(), *pieces) == cut_text(AtX(), text)


@pytest.mark.parametrize("line", ["x", "x" * 200, "b", ""])
def test_the_time_is_linear_in_the_length(line: str) -> None:
    enough = AtX()
    text = f"{line}\n" * (400_000 // (len(line) + 1))
    began = time.process_time()
    cut_text(enough, *(text[at : at + 3] for at in range(0, len(text), 3)))
    assert enough.read <= 4 * len(text) + 50_000
    assert time.process_time() - began < 4


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
