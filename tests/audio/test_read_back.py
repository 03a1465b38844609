"""New tags are read back as other programs do before a file is replaced, or it is refused."""

from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.odd_files import ARTIST, TITLE, bare, id3, musepack_5, texts
from audio.tagging import CONTAINERS, WANTED, Container
from chart_binder.audio.containers import file_with_tags, layout_of
from chart_binder.audio.fields import with_fields
from chart_binder.audio.open_file import ByteSpan, Piece, UnwrittenFile, open_audio
from chart_binder.audio.read_back import require_read_back
from chart_binder.audio.reading import read_tags
from chart_binder.audio.save import NotWritableError, check_tags, save_tags
from chart_binder.audio.tagset import TagSet
from chart_binder.errors import AudioError

TEXTS = id3(4, 0, texts(4))


def mp4_without_a_type() -> bytes:
    """Return an MP4 file that begins with a box that is skipped."""
    original = bare("bare.aac.m4a")
    size = int.from_bytes(original[:4], "big")
    return original[:4] + b"skip" + bytes(size - 8) + original[size:]


# The name of the file, its content, and what mutagen takes it for.
TAKEN_FOR_ANOTHER = {
    "FLAC by the name of an MP3": ("song.mp3", bare("bare.flac"), "MP3"),
    "Musepack 7 behind ID3": ("song.mpc", TEXTS + bare("bare.7.mpc"), "MP3"),
    "Musepack 5 behind ID3": ("song.mpc", TEXTS + musepack_5(), "MP3"),
    "WavPack behind ID3": ("song.wv", TEXTS + bare("bare.wv"), "MP3"),
    "MP4 without a type": ("song.m4a", mp4_without_a_type(), "no audio"),
}


@pytest.mark.parametrize("name", TAKEN_FOR_ANOTHER)
def test_a_file_whose_new_tags_nobody_would_see_is_refused(tmp_path: Path, name: str) -> None:
    file, content, kind = TAKEN_FOR_ANOTHER[name]
    path = tmp_path / file
    path.write_bytes(content)

    def change(tags: TagSet) -> TagSet:
        return with_fields(tags, {"note_album": ("Lateralus",)})

    for use in (check_tags, save_tags):
        with pytest.raises(NotWritableError, match=f"built on it take it for {kind}, by its name"):
            use(path, change)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == [file]
    if "Musepack" in name:  # it can be decided all the same
        tags = read_tags(path)
        assert (tags.title, tags.artist) == (TITLE, ARTIST)
    assert save_tags(path, change, is_undo=True).changed, "what is put back may be odd"


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container.name)
def test_every_field_that_mutagen_misses_is_found(tmp_path: Path, container: Container) -> None:
    with open_audio(container.fully_tagged(tmp_path)) as source:
        layout = layout_of(source)
        new_tags = with_fields(layout.tags, WANTED)
        new = UnwrittenFile.of(source, file_with_tags(layout, new_tags))
        require_read_back(new, with_fields(layout.tags, {}), new_tags)
        for field in WANTED:
            without = with_fields(new_tags, {field: ()})
            new = UnwrittenFile.of(source, file_with_tags(layout, without))
            require_read_back(new, layout.tags, without)
            with pytest.raises(AudioError, match=r"mutagen reads .+ under .+, where .+ is"):
                require_read_back(new, without, new_tags)


def test_what_mutagen_cannot_take_apart_is_named(tmp_path: Path) -> None:
    path = tmp_path / "song.flac"
    path.write_bytes(bare("bare.flac"))
    with open_audio(path) as source:
        tags = layout_of(source).tags
        new = UnwrittenFile.of(source, [b"fLaC", ByteSpan(10, 100)])
        with pytest.raises(AudioError, match="mutagen cannot read it with the new tags"):
            require_read_back(new, tags, with_fields(tags, {"album": ("Lateralus",)}))


PIECES = st.lists(
    st.binary(max_size=6) | st.builds(ByteSpan, st.integers(0, 50), st.integers(0, 50))
)


@given(PIECES, st.integers(0, 120), st.integers(0, 120))
def test_a_file_that_is_not_written_yet_is_read_like_one_that_is(
    pieces: list[Piece], start: int, size: int
) -> None:
    old = bytes(range(100))
    expected = b"".join(
        old[piece.start : piece.end] if isinstance(piece, ByteSpan) else piece for piece in pieces
    )
    with NamedTemporaryFile() as file:
        file.write(old)
        file.flush()
        with open_audio(Path(file.name)) as source:
            new = UnwrittenFile.of(source, pieces)
            assert new.size == len(expected)
            part = ByteSpan(min(start, new.size), min(size, new.size - min(start, new.size)))
            assert new.read(part.start, part.size) == expected[part.start : part.end]
            stream, same = new.stream(), BytesIO(expected)
            for move in (start, 0):
                assert stream.seek(move) == same.seek(move)
                assert stream.read(size) == same.read(size)
                assert stream.seek(0, 2) == same.seek(0, 2)
            assert stream.name == source.path
