"""A tag set holds the bytes of every record; changes leave the others, and can be undone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutagen.apev2 import APEBinaryValue, APEv2
from mutagen.asf._attrs import ASFByteArrayAttribute, ASFDWordAttribute, ASFUnicodeAttribute
from mutagen.flac import FLAC, Picture
from mutagen.id3 import (
    APIC,
    CHAP,
    COMM,
    CTOC,
    GEOB,
    ID3,
    POPM,
    PRIV,
    RVA2,
    SYLT,
    TDRC,
    TIT2,
    TPE1,
    TXXX,
    USLT,
    ID3TimeStamp,
)
from mutagen.mp4 import MP4Cover, MP4FreeForm

from audio.tagging import CONTAINERS_BY_NAME, FILES, VARIANTS, WANTED, Variant, field_texts
from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.save import (
    ChangedSinceError,
    PreparedCopy,
    SaveResult,
    restore_file,
    save_tags,
)
from chart_binder.audio.tagset import (
    TagBlock,
    TagChanges,
    TagItem,
    TagSet,
    apply_changes,
    changes_between,
)
from chart_binder.errors import AudioError

IMAGE = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 20


def save(path: Path, fields: Mapping[str, Sequence[str]]) -> SaveResult:
    return save_tags(path, lambda tags: with_fields(tags, fields))


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_field_can_be_set_and_all_be_undone_exactly(tmp_path: Path, variant: Variant) -> None:
    path = variant.make(tmp_path)
    audio, former = audio_hash(path), path.read_bytes()
    assert audio == audio_hash(FILES / variant.bare), "padding and tags are no part of it"
    before = read_tag_set(path)

    saved = save(path, WANTED)
    assert (saved.changed, saved.audio_hash) == (True, audio)
    assert {name: field_texts(saved.after, name) for name in WANTED} == {
        name: field_texts(with_fields(before, {name: texts}), name)
        for name, texts in WANTED.items()
    }
    assert not save(path, WANTED).changed

    changes = TagChanges.from_json(changes_between(before, saved.after).json)
    undone = save_tags(path, lambda tags: apply_changes(tags, changes.reversed))
    assert undone.after == before
    assert read_tag_set(path) == before
    assert audio_hash(path) == audio

    redone = save_tags(path, lambda tags: apply_changes(tags, changes))
    assert redone.after.hash == saved.after.hash
    for texts in (("x" * 200_000,), ("short",), ()):
        assert field_texts(save(path, {"album": texts}).after, "album") == texts
        assert audio_hash(path) == audio
    must_be_made_again(variant.make(tmp_path), former)


def must_be_made_again(path: Path, former: bytes) -> None:
    """Hold a file that was written to come back byte by byte, and what was written likewise."""
    prepared: list[PreparedCopy] = []
    fields = WANTED | {"labels": ("x" * 70_000,)}  # beyond what fits into a page of an Ogg file
    save_tags(path, lambda tags: with_fields(tags, fields), before_replace=prepared.append)
    written, restoration = path.read_bytes(), prepared[0].restoration
    assert len(restoration.document) < 3_000
    path.write_bytes(written + b"\0")
    with pytest.raises(ChangedSinceError):
        restore_file(path, restoration)
    path.write_bytes(written)
    restore_file(path, restoration, before_replace=prepared.append)
    assert path.read_bytes() == former
    restore_file(path, prepared[1].restoration)
    assert path.read_bytes() == written


def test_what_is_no_record_of_tags_is_refused() -> None:
    for document in (b"{}", b"[]"):
        with pytest.raises(AudioError, match="recorded tags cannot be read"):
            TagChanges.from_json(document)


def fill_id3(path: Path, version: int) -> None:
    tags = ID3()
    frames = [
        TIT2(encoding=1, text="Ænima"), TPE1(encoding=0, text="Tool"),
        TXXX(encoding=2, desc="replaygain_track_gain", text="-8.21 dB"),
        COMM(encoding=1, lang="deu", desc="ü", text="so"), USLT(encoding=1, lang="eng", text="la"),
        SYLT(encoding=0, lang="eng", format=2, type=1, text=[("la", 10)]),
        APIC(encoding=0, mime="image/jpeg", type=3, desc="front", data=IMAGE),
        RVA2(desc="track", channel=1, gain=-2.5, peak=0.9), POPM(email="a@b", rating=196, count=7),
        PRIV(owner="WM/x", data=b"\xff\0\xff\xe0\0"),
        GEOB(encoding=0, mime="a/b", filename="c", desc="d", data=b"\0\1"),
        CHAP(element_id="c1", start_time=0, end_time=9, start_offset=0, end_offset=9,
             sub_frames=[TIT2(encoding=3, text="one")]),
        CTOC(element_id="toc", flags=3, child_element_ids=["c1"], sub_frames=[]),
    ]  # fmt: skip
    for frame in frames:
        tags.add(frame)
    tags.save(path, v2_version=version)
    # A frame nobody knows, with flags nobody sets; the padding gives way.
    unknown_frame = b"XYZZ" + b"\0\0\0\5" + b"\x20\x00" + b"own!\xff"
    content = path.read_bytes()
    size = 0
    for digit in content[6:10]:
        size = size << 7 | digit
    end = 10 + size
    path.write_bytes(
        content[:10] + unknown_frame + content[10 : end - len(unknown_frame)] + content[end:]
    )


def fill(name: str, path: Path) -> None:
    """Put pictures, lyrics and unknown records into a bare file."""
    if name.startswith("mp3"):
        fill_id3(path, int(name[-1]))
        return
    container = CONTAINERS_BY_NAME[name]
    audio = APEv2() if container.column == "ape" else container.opener(path)
    if isinstance(audio, FLAC):
        picture = Picture()
        picture.type, picture.mime, picture.data = 3, "image/jpeg", IMAGE
        audio.add_picture(picture)
    for key, value in RECORDS[container.column].items():
        audio[key] = value
    audio.save(path)


RECORDS: dict[str, dict[str, Any]] = {
    "vorbis": {
        "REPLAYGAIN_TRACK_GAIN": "-8.21 dB", "LYRICS": "la\nla", "CHAPTER001": "00:00:00.000",
    },
    "mp4": {
        "covr": [MP4Cover(IMAGE, MP4Cover.FORMAT_JPEG)], "trkn": [(3, 11)], "cpil": True,
        "----:com.apple.iTunes:iTunNORM": [MP4FreeForm(b" 000003E8")],
        "----:org.example:raw": [MP4FreeForm(b"\0\1\2\xff", dataformat=0)], "\xa9lyr": ["la"],
    },
    "ape": {
        "Cover Art (Front)": APEBinaryValue(b"front.jpg\0" + IMAGE),
        "REPLAYGAIN_TRACK_GAIN": "-8.21 dB", "Lyrics": "la\nla",
    },
    "asf": {
        "WM/Picture": ASFByteArrayAttribute(b"\3" + bytes(4) + IMAGE),
        "WM/Lyrics": ASFUnicodeAttribute("la"), "WM/Track": ASFDWordAttribute(2),
        "Big": ASFByteArrayAttribute(bytes(70_000)),
        "OfStream": ASFUnicodeAttribute("one", stream=1),
        "InLanguage": ASFUnicodeAttribute("two", language=0, stream=2),
        "Title": ASFUnicodeAttribute("Ænima"),
    },
}  # fmt: skip
RICH = {
    "mp3-2.4": 14, "mp3-2.3": 14, "flac": 4, "aac": 6, "aac-fast": 6, "ape": 3, "wavpack": 3,
    "mpc-7": 3, "wma": 7,
}  # fmt: skip
"""Kinds of file, with how many records `fill` puts there."""


@pytest.mark.parametrize("name", RICH)
def test_pictures_lyrics_chapters_gain_and_more_keep_every_bit(tmp_path: Path, name: str) -> None:
    path = CONTAINERS_BY_NAME[name].copy(tmp_path)
    fill(name, path)
    before = read_tag_set(path)
    all_items = [item for block in before.blocks for item in block.items]
    assert len(all_items) == RICH[name]
    assert all(item.key for item in all_items)

    content = path.read_bytes()
    after = save(path, {"album": ["Lateralus"]}).after
    assert read_tag_set(path) == after
    assert [
        item for block in after.blocks for item in block.items if item in all_items
    ] == all_items
    assert all(item.data[6:] in path.read_bytes() for item in all_items)  # behind name and flags
    assert content != path.read_bytes()

    save(path, {"album": ()})
    assert read_tag_set(path) == before


def test_id3v2_2_stays_of_its_version(tmp_path: Path) -> None:
    path = CONTAINERS_BY_NAME["mp3-2.4"].copy(tmp_path)
    frames = b"TT2\0\0\5\0Time" + b"PIC\0\0\7\0JPG\3\0\xff"
    head = b"ID3\2\0\0" + bytes((0, 0, 0, len(frames)))
    path.write_bytes(head + frames + path.read_bytes())
    before = read_tag_set(path)
    saved = save(path, WANTED)
    assert saved.after.blocks[0].form == "id3v2.2"
    tags: Any = ID3(path)
    assert tags.version == (2, 2, 0)
    assert tags["UFID:http://musicbrainz.org"].data.decode() == WANTED["recording_mbid"][0]
    assert str(tags["TIT2"]) == "Time"
    assert tags["TDRC"].text == [ID3TimeStamp("2011-09-05")]
    assert str(tags["TALB"]) == WANTED["album"][0]
    back = changes_between(saved.before, saved.after).reversed
    assert save_tags(path, lambda tags: apply_changes(tags, back)).after == before


def test_an_unsynchronised_tag_has_the_same_frames(tmp_path: Path) -> None:
    plain, unsynced = (
        b"PRIV\0\0\0\x06\0\0a\0\xff\xe0\xff\0",
        b"PRIV\0\0\0\x06\0\0a\0\xff\0\xe0\xff\0\0",
    )
    sound = (FILES / "bare.mp3").read_bytes()
    tag_sets = []
    for flags, frames in ((0, plain), (0x80, unsynced)):
        path = tmp_path / f"{flags}.mp3"
        path.write_bytes(b"ID3\3\0" + bytes((flags, 0, 0, 0, len(frames))) + frames + sound)
        tag_sets.append(read_tag_set(path))
    assert tag_sets[0] == tag_sets[1]


def test_a_field_with_the_same_value_keeps_its_bytes(tmp_path: Path) -> None:
    path = CONTAINERS_BY_NAME["mp3-2.4"].copy(tmp_path)
    tags = ID3()
    tags.add(TXXX(encoding=1, desc="MUSICBRAINZ ALBUM ID", text=WANTED["release_mbid"][0]))
    tags.add(TDRC(encoding=0, text="2011-09-05"))
    tags.save(path)
    before = path.read_bytes()
    same = {name: WANTED[name] for name in ("release_mbid", "date")}
    assert not save(path, same).changed
    assert path.read_bytes() == before


ITEMS = st.lists(
    st.builds(TagItem, st.sampled_from("ABCD"), st.binary(max_size=3)), max_size=6
).map(tuple)
SETS = st.lists(
    st.builds(TagBlock, st.sampled_from(["id3v2.4", "apev2", "vorbis"]), ITEMS,
              st.binary(max_size=1)), max_size=3, unique_by=lambda block: block.form,
).map(lambda blocks: TagSet("any", tuple(blocks)))  # fmt: skip


@settings(max_examples=30, deadline=None, database=None)
@given(SETS, SETS)
def test_changes_lead_from_any_tags_to_any_others_and_back(old: TagSet, new: TagSet) -> None:
    # The head of a block is the business of the program that made it: nobody changes it.
    heads = {block.form: block.head for block in old.blocks}
    blocks = tuple(TagBlock(b.form, b.items, heads.get(b.form, b.head)) for b in new.blocks)
    new = TagSet("any", blocks)
    changes = changes_between(old, new)
    assert apply_changes(old, changes) == new
    assert apply_changes(new, changes.reversed) == old
