"""No damage to an audio file makes reading it raise anything but `AudioError`."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.tagging import CONTAINERS, Container
from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.reading import read_tags
from chart_binder.audio.tagset import TagSet
from chart_binder.errors import AudioError

# Tags stand before the sound or behind it: damage in the middle of the sound says nothing.
HEAD, TAIL = 3_000, 3_000

FLIPS = st.lists(
    st.tuples(st.integers(0, HEAD + TAIL - 1), st.integers(1, 255)), min_size=1, max_size=12
)


def damaged(content: bytes, flips: list[tuple[int, int]]) -> bytes:
    reachable = [
        *range(min(HEAD, len(content))),
        *range(max(HEAD, len(content) - TAIL), len(content)),
    ]
    result = bytearray(content)
    for place, mask in flips:
        result[reachable[place % len(reachable)]] ^= mask
    return bytes(result)


def must_be_read_or_refused(path: Path) -> None:
    try:
        tags = read_tags(path)
    except AudioError as error:
        refusal = str(error)
    else:
        refusal = ""
        assert tags.duration_ms is None or 0 < tags.duration_ms < 2**31
        for text in (tags.title, tags.artist, tags.album, tags.album_artist, tags.date):
            assert text is None or text.strip()
            (text or "").encode()  # a lone surrogate could not be printed
    assert not refusal or refusal.startswith(f"'{path}' ")
    assert "\n" not in refusal


def must_be_hashed_or_refused(path: Path) -> None:
    """Hold the raw tags, too, to come as they are and go back as they are, or not at all."""
    try:
        tags = read_tag_set(path)
        assert TagSet.from_json(tags.json) == tags
        assert with_fields(tags, {"album": ["x"]}) != tags
        assert len(audio_hash(path)) == 64
    except AudioError as error:
        assert str(error).startswith(f"'{path}' ")  # noqa: PT017  # most files are read


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container.name)
def test_flipped_bytes_are_read_or_an_audio_error(
    tmp_path_factory: pytest.TempPathFactory, container: Container
) -> None:
    path = container.fully_tagged(tmp_path_factory.mktemp("flipped"))
    whole = path.read_bytes()

    @settings(max_examples=30, deadline=None, database=None)
    @given(FLIPS)
    def holds(flips: list[tuple[int, int]]) -> None:
        path.write_bytes(damaged(whole, flips))
        must_be_read_or_refused(path)
        must_be_hashed_or_refused(path)

    holds()


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container.name)
def test_truncations_are_read_or_an_audio_error(tmp_path: Path, container: Container) -> None:
    path = container.fully_tagged(tmp_path)
    whole = path.read_bytes()
    step = max(1, len(whole) // 100)
    for size in range(0, len(whole), step):
        path.write_bytes(whole[:size])
        must_be_read_or_refused(path)
        must_be_hashed_or_refused(path)


@pytest.mark.slow
@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container.name)
def test_each_single_flipped_byte_is_read_or_an_audio_error(
    tmp_path: Path, container: Container
) -> None:
    path = container.fully_tagged(tmp_path)
    whole = path.read_bytes()
    for place in range(min(HEAD + TAIL, len(whole))):
        for mask in (0x01, 0x80, 0xFF):
            path.write_bytes(damaged(whole, [(place, mask)]))
            must_be_read_or_refused(path)
