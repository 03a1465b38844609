"""The hash over the audio changes with the audio, and with nothing else."""

import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.tagging import CONTAINERS, FILES, Container
from audio.variants import VARIANTS, Variant
from chart_binder.audio.containers import audio_hash, layout_of
from chart_binder.audio.file_access import Source, Span, open_audio
from chart_binder.errors import AudioError

# What only Ogg holds, and mediafile does not read.
MORE = ("bare.oga", "bare.spx", "bare.pieces.m4a")


def named(item: Container | Variant) -> str:
    return item.name


def stretches(path: Path) -> list[Span]:
    """Return where the audio stands in the file."""
    with open_audio(path) as descriptor:
        pieces = list(layout_of(Source.of(path, descriptor)).audio())
    return [piece for piece in pieces if isinstance(piece, Span) and piece.size]


@pytest.mark.parametrize("container", CONTAINERS, ids=named)
def test_tags_written_by_another_program_leave_it(tmp_path: Path, container: Container) -> None:
    bare = audio_hash(FILES / container.bare)
    tagged = container.fully_tagged(tmp_path)
    assert audio_hash(tagged) == bare
    audio: Any = container.opener(tagged)
    audio.delete()
    assert audio_hash(tagged) == bare


@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_room_left_behind_a_tag_leaves_it(tmp_path: Path, variant: Variant) -> None:
    name = variant.name.rsplit("-", 1)[0]
    bare = {container.name: container.bare for container in CONTAINERS}.get(name, f"bare.{name}")
    assert audio_hash(variant.make(tmp_path)) == audio_hash(FILES / bare)


def test_moving_the_movie_box_before_the_media_leaves_it() -> None:
    assert audio_hash(FILES / "bare.fast.m4a") == audio_hash(FILES / "bare.aac.m4a")


NAMES = sorted({container.bare for container in CONTAINERS} | set(MORE))


@pytest.mark.parametrize("name", NAMES)
def test_any_changed_byte_of_the_audio_changes_it(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    path = tmp_path_factory.mktemp("flipped") / name
    whole = (FILES / name).read_bytes()
    path.write_bytes(whole)
    before, spans = audio_hash(path), stretches(path)
    places = [at for span in spans for at in range(span.start, span.start + span.size)]
    assert len(places) > 70

    @settings(max_examples=60, deadline=None, database=None)
    @given(st.sampled_from(places), st.integers(1, 255))
    def holds(place: int, mask: int) -> None:
        damaged = bytearray(whole)
        damaged[place] ^= mask
        path.write_bytes(damaged)
        with suppress(AudioError):  # a header that makes no sense any more
            assert audio_hash(path) != before

    holds()


def test_a_table_that_points_elsewhere_changes_it(tmp_path: Path) -> None:
    path = tmp_path / "song.m4a"
    whole = bytearray((FILES / "bare.aac.m4a").read_bytes())
    at = whole.index(b"stco") + 12
    whole[at + 3] ^= 1
    path.write_bytes(whole)
    assert audio_hash(path) != audio_hash(FILES / "bare.aac.m4a")


def test_a_cut_file_has_another_hash_or_none(tmp_path: Path) -> None:
    for name in set(NAMES) - {"bare.pieces.m4a"}:  # whose last box is an index one can do without
        path = tmp_path / name
        whole = (FILES / name).read_bytes()
        before = audio_hash(FILES / name)
        for size in range(1, len(whole), max(1, len(whole) // 40)):
            path.write_bytes(whole[:size])
            try:
                found = audio_hash(path)
            except AudioError as error:
                assert str(error).startswith(f"'{path}' ")  # noqa: PT017
                continue
            assert found != before, (name, size)


def test_a_long_file_is_never_in_memory(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    "content", [b"Remember the milk.\n" * 50, b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(500)]
)
def test_what_is_no_audio_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.mp3"
    path.write_bytes(content)
    with pytest.raises(AudioError, match="is of no kind whose tags are written: those are MP3"):
        audio_hash(path)
