"""What other programs left in files is still there for every reader after a write, and undone."""

import json
import logging
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mutagen
import pytest
from mediafile import MediaFile, UnreadableFileError

from audio.odd_files import (
    ALBUM,
    ARTIST,
    JPEG,
    ODD,
    PLAIN,
    REFUSED,
    TITLE,
    bare,
    chunk,
    id3v1,
    make,
    mp4_with_media_elsewhere,
    mp4_without_media,
    sized,
)
from audio.tagging import WANTED
from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.reading import read_tags
from chart_binder.audio.save import (
    PreparedCopy,
    Restoration,
    SaveResult,
    check_tags,
    restore_file,
    save_tags,
)
from chart_binder.audio.tagset import TagSet
from chart_binder.errors import AudioError, SaveError
from corpus import rows

try:
    import taglib
except ImportError:
    taglib = None

WITH_TAGLIB = pytest.mark.skipif(taglib is None, reason="TagLib (pytaglib) is not installed")

FIELDS = {name: WANTED[name] for name in ("release_mbid", "original_date", "decision_trace")}

Seen = set[tuple[str, str]]

# What is not taken over into a tag that hides it.
NOT_TAKEN: Seen = {("MP3GAIN_UNDO", "+004,+004,N")}


def by_mediafile(path: Path) -> Seen:
    try:
        audio = MediaFile(path)
    except UnreadableFileError:
        return set()
    names = ("title", "artist", "album", "track", "year", "genre")
    seen = {(name, str(getattr(audio, name))) for name in names if getattr(audio, name)}
    return seen | {("art", image.data.hex()) for image in audio.images or ()}


def by_mutagen(path: Path) -> Seen:
    """Return every frame, comment, item, by its key and what it says."""
    try:
        audio: Any = mutagen.File(path)
    except mutagen.MutagenError:
        return set()
    return {(key, str(getattr(value, "data", value))) for key, value in (audio.tags or {}).items()}


def by_taglib(path: Path) -> Seen:
    if taglib is None:
        return set()
    with taglib.File(path) as file:
        return {(key, text) for key, texts in file.tags.items() for text in texts if text.strip()}


def by_ffprobe(path: Path) -> Seen:
    if shutil.which("ffprobe") is None:
        return set()
    command = ["ffprobe", "-v", "quiet", "-of", "json", "-show_format", "-show_streams"]
    document = json.loads(subprocess.run([*command, path], capture_output=True, check=False).stdout)
    parts = [document.get("format", {}), *document.get("streams", ())]
    return {(key.lower(), text) for part in parts for key, text in part.get("tags", {}).items()}


def lost(before: Seen, after: Seen) -> Seen:
    """Return what is no longer read; a text may have become longer, as that of ID3v1 does."""
    texts: dict[str, str] = {}
    for key, text in after:
        texts[key] = texts.get(key, "") + text
    readable = {(key, text) for key, text in before if "\ufffd" not in text}
    return {(key, text) for key, text in readable if text not in texts.get(key, "")} - NOT_TAKEN


QUICK = (by_mediafile, by_mutagen, by_taglib)


def save(path: Path) -> tuple[SaveResult, Restoration]:
    prepared: list[PreparedCopy] = []
    saved = save_tags(path, lambda tags: with_fields(tags, FIELDS), before_replace=prepared.append)
    return saved, prepared[0].restoration


# ffmpeg takes the middle of the APE tag for ID3v1.
MISREAD = {("MP3 with APE of 131 bytes", by_ffprobe)}


def check(path: Path) -> tuple[TagSet, TagSet]:
    """Ask what the preview asks."""
    return check_tags(path, lambda tags: with_fields(tags, FIELDS))


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize(
    "readers", [QUICK, pytest.param((by_ffprobe,), marks=pytest.mark.slow)], ids=["", "ffprobe"]
)
def test_no_reader_loses_anything_and_undo_is_byte_identical(
    tmp_path: Path, name: str, readers: tuple[Callable[[Path], Seen], ...]
) -> None:
    path = make(name, tmp_path)
    before = path.read_bytes()
    sound, tags = audio_hash(path), read_tag_set(path)
    seen = [read(path) for read in readers]
    planned = check(path)
    saved, restoration = save(path)
    assert planned == (saved.before, saved.after)
    for read, was in zip(readers, seen, strict=True):
        assert (name, read) in MISREAD or not lost(was, read(path)), read
    assert MediaFile(path).mb_albumid == FIELDS["release_mbid"][0]
    if taglib is not None:
        assert ("CANON_TRACE", FIELDS["decision_trace"][0]) in by_taglib(path)
    assert (saved.audio_hash, saved.before) == (sound, tags)
    assert not save_tags(path, lambda tags: with_fields(tags, FIELDS)).changed

    stored = Restoration.from_document(restoration.document)
    undone = restore_file(path, stored)
    assert path.read_bytes() == before
    assert (undone.after, undone.audio_hash) == (tags, sound)


@pytest.mark.parametrize("name", REFUSED)
def test_a_header_that_its_file_contradicts_is_refused_by_name(tmp_path: Path, name: str) -> None:
    file, content, reason = REFUSED[name]
    path = tmp_path / file
    path.write_bytes(content)
    for use in (save, check):
        with pytest.raises((AudioError, SaveError), match=reason):
            use(path)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == [file]


def test_the_tags_of_a_recording_from_a_pipe_are_read(tmp_path: Path) -> None:
    path = tmp_path / "song.wav"
    entries = b"".join(
        chunk(name, text.encode("latin-1"), "<")
        for name, text in ((b"INAM", TITLE), (b"IART", ARTIST))
    )
    original = bare("bare.wav")
    at = original.index(b"data")
    original = original[:at] + chunk(b"LIST", b"INFO" + entries, "<") + original[at:]
    at = original.index(b"data") + 4
    path.write_bytes(sized(sized(original, 4, 0xFFFFFFFF), at, 0xFFFFFFFF))
    tags = read_tags(path)
    assert (tags.title, tags.artist) == (TITLE, ARTIST)
    before = audio_hash(path)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert audio_hash(path) != before


def test_bytes_behind_the_chunks_are_hashed(tmp_path: Path) -> None:
    path = make("WAV with ID3v1 behind its chunks", tmp_path)
    before, original = audio_hash(path), path.read_bytes()
    path.write_bytes(original[:-5] + b"x" + original[-4:])
    assert audio_hash(path) != before


@pytest.mark.parametrize("name", [name for name in ODD if "index before" in name])
def test_an_index_of_segments_points_at_the_first_one_then(tmp_path: Path, name: str) -> None:
    path = make(name, tmp_path)
    save(path)
    original = path.read_bytes()
    start, fragment, index = (original.index(kind) - 4 for kind in (b"sidx", b"moof", b"mfra"))
    size, version = int.from_bytes(original[start : start + 4], "big"), original[start + 8]
    at = start + 20 + (8 if version else 4)
    first = int.from_bytes(original[at : at + (8 if version else 4)], "big")
    assert start + size + first == fragment
    assert fragment != make(name, tmp_path).read_bytes().index(b"moof") - 4
    places = (original.index(b"tfhd") + 12, original.index(b"tfra") + 28)
    assert {int.from_bytes(original[at : at + 8], "big") for at in places} == {fragment}
    assert index > fragment


def test_frames_with_names_of_2_2_are_replaced(tmp_path: Path) -> None:
    path = make("names of 2.2 in 2.3", tmp_path)
    save_tags(path, lambda tags: with_fields(tags, {"album": ("Lateralus",)}))
    assert ALBUM.encode() not in path.read_bytes()
    assert MediaFile(path).album == "Lateralus"
    assert mutagen.id3.ID3(path).getall("TALB")[0].text == ["Lateralus"]
    assert b"TT2\0" in path.read_bytes()  # not changed


@pytest.mark.parametrize("name", ["syncsafe lengths in 2.3", "cut frame at the end"])
def test_a_picture_takes_in_no_padding(tmp_path: Path, name: str) -> None:
    path = make(name, tmp_path)
    end = JPEG if "syncsafe" in name else JPEG[:-300]
    save(path)
    assert [image.data for image in MediaFile(path).images] == [end]


TAKEN = rows(__file__, "taken")


@WITH_TAGLIB
@pytest.mark.parametrize(("name", "extra"), TAKEN, ids=[name for name, _ in TAKEN])
def test_a_new_tag_says_what_it_hides(tmp_path: Path, name: str, extra: dict[str, str]) -> None:
    path = make(name, tmp_path)
    save(path)
    expected = {"TITLE": TITLE, "ARTIST": ARTIST} | extra
    with taglib.File(path) as file:
        assert {key: file.tags.get(key, [""])[0] for key in expected} == expected
    audio = MediaFile(path)
    assert (audio.title, audio.artist) == (TITLE, expected["ARTIST"])


PICTURES = [name for name in ODD if "not" in name or "flags" in name or "doubtful" in name]


@pytest.mark.parametrize("name", PICTURES)
def test_bytes_behind_a_flag_that_lies_are_kept(tmp_path: Path, name: str) -> None:
    path = make(name, tmp_path)
    save(path)
    assert JPEG in path.read_bytes()
    assert [image.data for image in MediaFile(path).images] == [JPEG]
    assert MediaFile(path).title == TITLE
    assert (PLAIN in path.read_bytes()) == ("doubtful" in name)


def test_a_second_block_of_comments_is_kept(tmp_path: Path) -> None:
    path = make("FLAC with two comment blocks", tmp_path)
    save(path)
    assert b"NOTE=kept" in path.read_bytes()
    assert [item.key for item in read_tag_set(path).blocks[1].items] == ["COMMENTS:1"]


@pytest.mark.parametrize("made", [mp4_without_media, mp4_with_media_elsewhere])
def test_an_mp4_without_its_media_is_refused(tmp_path: Path, made: Any) -> None:
    path = tmp_path / "song.m4a"
    path.write_bytes(made())
    for use in (audio_hash, save):
        with pytest.raises((AudioError, SaveError), match=r"is damaged, .* media"):
            use(path)
    assert path.read_bytes() == made()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_an_extended_header_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "song.mp3"
    path.write_bytes(
        make("extended header 2.3", tmp_path).read_bytes().replace(b"TIT2", b"\1\2\3\4")
    )
    with pytest.raises(AudioError, match="no frame follows the extended header"):
        save(path)


def test_a_picture_is_not_kept_twice(tmp_path: Path) -> None:
    path = make("unsynchronisation that is not there 2.4", tmp_path)
    picture = JPEG + logging.__file__.encode() + Path(logging.__file__).read_bytes() * 4
    path.write_bytes(path.read_bytes() + id3v1())
    tags = mutagen.id3.ID3(path)
    tags.add(mutagen.id3.APIC(encoding=0, mime="image/jpeg", type=4, data=picture))
    tags.save(path, padding=lambda _: 0)
    _, restoration = save(path)
    assert len(restoration.document) < len(picture) / 20


def test_a_damaged_record_of_the_former_file_is_named() -> None:
    with pytest.raises(AudioError, match="the journal cannot restore the old file"):
        Restoration.from_document(b"x")
