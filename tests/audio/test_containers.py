"""Taking files apart: the hash over the audio, and what damaged files are read as."""

import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutagen.ogg import OggPage

from audio.tagging import BARE, CONTAINERS, FILES, Container
from chart_binder.audio.containers import audio_hash, layout_of, read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.open_file import ByteSpan, open_audio
from chart_binder.audio.reading import read_tags
from chart_binder.errors import AudioError

NAMES = sorted({*BARE, "bare.pieces.m4a"})
by_container = pytest.mark.parametrize(
    "container", CONTAINERS, ids=lambda container: container.name
)


def test_moving_the_movie_box_before_the_media_leaves_the_hash() -> None:
    assert audio_hash(FILES / "bare.fast.m4a") == audio_hash(FILES / "bare.aac.m4a")


@pytest.mark.parametrize("name", NAMES)
def test_any_changed_byte_of_the_audio_changes_the_hash(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    path = tmp_path_factory.mktemp("flipped") / name
    original = (FILES / name).read_bytes()
    path.write_bytes(original)
    with open_audio(path) as source:
        pieces = list(layout_of(source).audio())
    spans = [piece for piece in pieces if isinstance(piece, ByteSpan)]
    places = [at for span in spans for at in range(span.start, span.start + span.size)]
    before = audio_hash(path)
    assert len(places) > 70
    hashed = 0

    @settings(max_examples=60, deadline=None, database=None)
    @given(st.sampled_from(places), st.integers(1, 255))
    def holds(place: int, mask: int) -> None:
        nonlocal hashed
        path.write_bytes(flipped(original, [(place, mask)]))
        try:
            result = audio_hash(path)
        except AudioError:  # a header that makes no sense any more
            return
        hashed += 1
        assert result != before

    holds()
    assert hashed > 0


def test_a_table_that_points_elsewhere_changes_the_hash(tmp_path: Path) -> None:
    path = tmp_path / "song.m4a"
    original = (FILES / "bare.aac.m4a").read_bytes()
    path.write_bytes(flipped(original, [(original.index(b"stco") + 15, 1)]))
    assert audio_hash(path) != audio_hash(FILES / "bare.aac.m4a")


# The last box of a fragmented MP4 is an index that a player can do without.
@pytest.mark.parametrize("name", sorted({*NAMES} - {"bare.pieces.m4a"}))
def test_a_cut_file_has_another_hash_or_none(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    original = (FILES / name).read_bytes()
    before = audio_hash(FILES / name)
    for size in range(1, len(original), max(1, len(original) // 40)):
        path.write_bytes(original[:size])
        try:
            result = audio_hash(path)
        except AudioError as error:
            result = str(error)
            assert result.startswith(f"'{path}' ")  # some are read
        assert result != before, size


def test_a_long_file_is_hashed_a_part_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "long.wav"
    size = 64 << 20
    with path.open("wb") as file:
        head = bytearray((FILES / "bare.wav").read_bytes()[:44])
        at = head.index(b"data")
        head[4:8] = (at + size).to_bytes(4, "little")
        head[at + 4 : at + 8] = size.to_bytes(4, "little")
        file.write(head[: at + 8])
        file.truncate(at + 8 + size)
    tracemalloc.start()
    try:
        audio_hash(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 << 20


USE = """
import resource, sys
from pathlib import Path
from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.save import check_tags, restore_file, save_tags

path, copies = Path(sys.argv[1]), []
old, sound = read_tag_set(path), audio_hash(path)
change = lambda tags: with_fields(tags, {"album": ["Lateralus"]})
planned = check_tags(path, change)
saved = save_tags(path, change, before_replace=copies.append)
assert (old, read_tag_set(path)) == planned == (saved.before, saved.after)
assert (audio_hash(path), saved.audio_hash) == (sound, sound)
undone = restore_file(path, copies[0].restoration)
assert (undone.after, undone.audio_hash) == (old, sound)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bare.wav", "bare.aac.m4a", "bare.mp3", "bare.flac", "bare.dsf"])
def test_four_gigabytes_are_previewed_saved_verified_and_undone_within_200_megabytes(
    tmp_path: Path, name: str
) -> None:
    original, long = (FILES / name).read_bytes(), (4 << 30) - 4096
    path = tmp_path / name
    with path.open("wb") as file:
        if name.endswith("m4a"):  # the media first, as long as a box of 32 bits can be
            at = original.index(b"mdat") - 4
            end = at + int.from_bytes(original[at : at + 4], "big")
            file.write(original[:at] + long.to_bytes(4, "big") + original[at + 4 : end])
            file.seek(at + long)
            file.write(original[end:])
        else:
            file.write(long_header(name, original, long))
            file.truncate(long)
    result = subprocess.run([sys.executable, "-c", USE, path], capture_output=True, check=True)
    path.unlink()
    assert int(result.stdout) < 200_000


@pytest.mark.slow
def test_a_million_pages_of_ogg_get_other_numbers_within_200_megabytes(tmp_path: Path) -> None:
    """The new comments are longer than a page; 4 GB of usual pages are as many."""
    path = Path(shutil.copy(FILES / "bare.ogg", tmp_path))
    with path.open("rb+") as file:
        page = OggPage()
        page.serial, page.sequence, page.packets = OggPage(file).serial, 9, [bytes(200)]
        file.seek(0, os.SEEK_END)
        for _ in range(1 << 10):
            file.write(page.write() * (1 << 10))
    use = USE.replace('"Lateralus"', '"Lateralus" * 20_000')
    result = subprocess.run([sys.executable, "-c", use, path], capture_output=True, check=True)
    path.unlink()
    assert int(result.stdout) < 200_000


def long_header(name: str, original: bytes, size: int) -> bytes:
    """Return a file whose header says that it has this size, all of it sound."""
    head = bytearray(original)
    at = original.find(b"data") + 4
    if name.endswith("wav"):
        head[4:8] = (size - 8).to_bytes(4, "little")
        head[at : at + 4] = (size - at - 4).to_bytes(4, "little")
    elif name.endswith("dsf"):
        head[12:20] = size.to_bytes(8, "little")
        head[at : at + 8] = (size - at + 4).to_bytes(8, "little")
    return bytes(head)


# Tags stand before the sound or behind it: damage in the middle of the sound says nothing.
HEAD, TAIL = 3_000, 3_000

FLIPS = st.lists(
    st.tuples(st.integers(0, HEAD + TAIL - 1), st.integers(1, 255)), min_size=1, max_size=12
)


def flipped(content: bytes, flips: list[tuple[int, int]]) -> bytes:
    result = bytearray(content)
    for place, mask in flips:
        result[place] ^= mask
    return bytes(result)


def damaged(content: bytes, flips: list[tuple[int, int]]) -> bytes:
    """Return the content with bits flipped in its first and last bytes."""
    size = len(content)
    reachable = [*range(min(HEAD, size)), *range(max(HEAD, size - TAIL), size)]
    return flipped(content, [(reachable[place % len(reachable)], mask) for place, mask in flips])


def must_be_read_or_refused(path: Path) -> None:
    try:
        tags = read_tags(path)
    except AudioError as error:
        assert str(error).startswith(f"'{path}' ")  # noqa: PT017  # most files are read
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert tags.duration_ms is None or 0 < tags.duration_ms < 2**31
        for text in (tags.title, tags.artist, tags.album, tags.album_artist, tags.date):
            assert text is None or text.strip()
            (text or "").encode()  # a lone surrogate could not be printed


def must_be_hashed_or_refused(path: Path) -> None:
    try:
        tags = read_tag_set(path)
        assert with_fields(tags, {"album": ["x"]}) != tags
        assert len(audio_hash(path)) == 64
    except AudioError as error:
        assert str(error).startswith(f"'{path}' ")  # noqa: PT017  # most files are read


@by_container
def test_flipped_bytes_are_read_or_an_audio_error(
    tmp_path_factory: pytest.TempPathFactory, container: Container
) -> None:
    path = container.fully_tagged(tmp_path_factory.mktemp("flipped"))
    original = path.read_bytes()

    @settings(max_examples=30, deadline=None, database=None)
    @given(FLIPS)
    def holds(flips: list[tuple[int, int]]) -> None:
        path.write_bytes(damaged(original, flips))
        must_be_read_or_refused(path)
        must_be_hashed_or_refused(path)

    holds()


@by_container
def test_truncations_are_read_or_an_audio_error(tmp_path: Path, container: Container) -> None:
    path = container.fully_tagged(tmp_path)
    original = path.read_bytes()
    for size in range(0, len(original), max(1, len(original) // 100)):
        path.write_bytes(original[:size])
        must_be_read_or_refused(path)
        must_be_hashed_or_refused(path)


@pytest.mark.slow
@by_container
def test_each_flipped_byte_is_read_or_an_audio_error(tmp_path: Path, container: Container) -> None:
    path = container.fully_tagged(tmp_path)
    original = path.read_bytes()
    for place in range(min(HEAD + TAIL, len(original))):
        for mask in (0x01, 0x80, 0xFF):
            path.write_bytes(damaged(original, [(place, mask)]))
            must_be_read_or_refused(path)
