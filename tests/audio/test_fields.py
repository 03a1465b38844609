"""The fields that are written: what other programs read of them, and what the page on tags says."""

import json
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mediafile import (
    ASFStorageStyle,
    MediaField,
    MediaFile,
    MP3DescStorageStyle,
    MP3StorageStyle,
    MP4StorageStyle,
    StorageStyle,
)

from audio.odd_files import TITLE
from audio.tagging import CONTAINERS, CONTAINERS_BY_NAME, WANTED, Container, field_texts
from audio.tagging import FIELDS as COMMON
from chart_binder.audio.containers import file_with_tags, layout_of, read_tag_set
from chart_binder.audio.field_table import FIELDS, FREE, READ_ONLY_FIELDS, Family, TagField
from chart_binder.audio.fields import (
    all_fields,
    item_texts,
    with_fields,
)
from chart_binder.audio.open_file import open_audio
from chart_binder.audio.reading import read_tags
from chart_binder.audio.save import save_tags
from chart_binder.audio.tagset import TagBlock
from chart_binder.errors import AudioError
from corpus import rows

PAGE = Path(__file__).parents[2] / "docs" / "tag_files.md"
FAMILIES: tuple[Family, ...] = ("id3", "vorbis", "mp4", "ape", "asf")


def text_field(id3: str, mp4: str, key: str, asf: str = "") -> MediaField:
    """Return a field that mediafile does not know."""
    frame = MP3DescStorageStyle(id3[5:]) if id3.startswith("TXXX:") else MP3StorageStyle(id3)
    styles = (frame, MP4StorageStyle(mp4), StorageStyle(key), ASFStorageStyle(asf or key))
    return MediaField(*styles)


def own_field(key: str) -> MediaField:
    return text_field(f"TXXX:{key}", f"----:com.apple.iTunes:{key}", key)


class Read(MediaFile):  # type: ignore[misc]  # mediafile has no type information
    """What mediafile reads, with fields that it does not know."""

    release_date = text_field("TDRL", "----:com.apple.iTunes:RELEASEDATE", "RELEASEDATE")
    disc_id = text_field("TXXX:MusicBrainz Disc Id", "----:com.apple.iTunes:MusicBrainz Disc Id",
                         "MUSICBRAINZ_DISCID", "MusicBrainz/Disc Id")  # fmt: skip
    note_album = own_field("CANON_ALBUM")
    note_original_date = own_field("CANON_ORIGINALDATE")
    note_uncertain_date = own_field("CANON_ORIGINALDATE_UNCERTAIN")
    note_release_group_mbid = own_field("CANON_RELEASEGROUPID")
    note_release_mbid = own_field("CANON_RELEASEID")
    decision_trace = own_field("CANON_TRACE")


FIRST = {name: texts[0] for name, texts in WANTED.items()}

# mediafile's name for a field, and what it must read.
_SAME = ("asin", "barcode", "disc_id", "media", "note_album", "note_original_date",
         "note_uncertain_date",
         "note_release_group_mbid", "note_release_mbid", "decision_trace", "album")  # fmt: skip
_NAMED = {
    "albumartist": "album_artist", "albumartist_sort": "album_artist_sort",
    "disctitle": "disc_subtitle", "label": "labels", "albumstatus": "release_status",
    "country": "release_country", "mb_trackid": "recording_mbid", "mb_albumid": "release_mbid",
    "mb_releasetrackid": "release_track_mbid", "mb_releasegroupid": "release_group_mbid",
}  # fmt: skip
READ = {
    **{name: FIRST[name] for name in _SAME}, **{name: FIRST[key] for name, key in _NAMED.items()},
    "date": date(2011, 9, 5), "original_date": date(1974, 10, 11), "original_year": 1974,
    "track": 5, "tracktotal": 12, "disc": 2, "disctotal": 3, "comp": True,
    "catalognums": list(WANTED["catalog_numbers"]), "albumtypes": list(WANTED["release_types"]),
    "mb_artistids": list(WANTED["artist_mbids"]),
    "mb_albumartistids": list(WANTED["album_artist_mbids"]),
}  # fmt: skip


@pytest.mark.parametrize("full", [False, True], ids=["bare", "tagged"])
@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container.name)
def test_mediafile_reads_every_field_of_every_container(
    tmp_path: Path, container: Container, *, full: bool
) -> None:
    path = container.fully_tagged(tmp_path) if full else container.copy(tmp_path)
    title = MediaFile(path).title
    save_tags(path, lambda tags: with_fields(tags, WANTED))
    audio = Read(path)
    expected = READ | {"title": title}
    if container.name == "wma" or (full and container.name.endswith("2.3")):
        expected["original_date"] = date(1974, 1, 1)  # it reads a key with room for the year only
    if container.column == "ape":  # Picard and foobar2000 write both as one
        expected |= {"tracktotal": None, "disctotal": None}
    assert {name: getattr(audio, name) for name in expected} == expected
    assert audio.release_date == FIRST["release_date"] or "2.3" in container.name
    tags = read_tag_set(path)
    year_alone = {"original_date": ("1974",)} if full and "2.3" in container.name else {}
    assert {name: field_texts(tags, name) for name in WANTED} == WANTED | year_alone
    track_tags = read_tags(path)
    names = ("recording_mbid", "release_group_mbid", "date")
    assert [getattr(track_tags, name) for name in names] == [FIRST[name] for name in names]


# It shows no tags of DSF; the others were written by hand and hold nothing that it could decode.
NOT_BY_FFPROBE = {"dsf", "ape", "mpc-7", "mpc-8"}
QUICK = {"mp3-2.3", "flac", "ogg", "aac-fast", "wma"}


@pytest.mark.skipif(shutil.which("ffprobe") is None, reason="ffprobe is not installed")
@pytest.mark.parametrize(
    "container",
    [
        pytest.param(
            container, marks=() if container.name in QUICK else pytest.mark.slow, id=container.name
        )
        for container in CONTAINERS
        if container.name not in NOT_BY_FFPROBE
    ],
)
def test_ffprobe_reads_fields_and_ffmpeg_the_sound(tmp_path: Path, container: Container) -> None:
    def decoded() -> bytes:
        """Return a digest of the samples."""
        return output("ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-f", "md5", "-")

    path = container.fully_tagged(tmp_path)
    before = decoded()
    save_tags(path, lambda tags: with_fields(tags, WANTED))
    shown = ("-of", "json", "-show_format", "-show_streams")
    document = json.loads(output("ffprobe", "-v", "error", *shown, path))
    parts = [document["format"], *document["streams"]]
    values = {value for part in parts for value in part.get("tags", {}).values()}
    assert {FIRST["release_mbid"], FIRST["album"], FIRST["decision_trace"]} <= values
    assert FIRST["catalog_numbers"] in values
    assert decoded() == before


def output(*command: str | Path) -> bytes:
    run = subprocess.run(command, capture_output=True, check=True)
    assert run.stderr == b""
    return run.stdout


YEARS = [
    ("flac", "YEAR", "date"),
    ("aac", f"{FREE}ORIGINAL YEAR", "original_date"),
    ("wma", "WM/OriginalReleaseYear", "original_date"),
]


@pytest.mark.parametrize(("name", "key", "field"), YEARS)
def test_keys_of_a_year_get_no_whole_date(tmp_path: Path, name: str, key: str, field: str) -> None:
    tags = read_tag_set(CONTAINERS_BY_NAME[name].tagged(tmp_path, [(key, ["1999-12-31"])]))
    changed = with_fields(tags, {field: ["1974-10-11"]})
    (block,) = changed.blocks
    texts = {item.key: item_texts(block.form, item) for item in block.items}
    assert texts.pop(key) == ("1974",)
    assert list(texts.values()) == [("1974-10-11",)]
    assert with_fields(changed, {field: ["1974-10-11"]}) is changed


@pytest.mark.parametrize(("name", "values", "field", "read"), rows(__file__, "other_keys"))
def test_dates_are_read_under_other_keys_too(
    tmp_path: Path, name: str, values: dict[str, str], field: str, read: tuple[str, ...]
) -> None:
    container = CONTAINERS_BY_NAME[name]
    path = container.tagged(tmp_path, [(key, [text]) for key, text in values.items()])
    assert field_texts(read_tag_set(path), field) == read


@pytest.mark.parametrize(("name", "second"), rows(__file__, "second"))
def test_no_old_id_stays_under_a_second_name(tmp_path: Path, name: str, second: str) -> None:
    container = CONTAINERS_BY_NAME[name]
    first = container.key(
        next(container for container in COMMON if container.attribute == "release_mbid")
    )
    old = ["11111111-1111-4111-8111-111111111111"]
    tags = read_tag_set(container.tagged(tmp_path, [(first, old), (second, old)]))
    new = WANTED["release_mbid"]

    def ids(fields: dict[str, tuple[str, ...]]) -> list[tuple[str, ...] | None]:
        (block,) = with_fields(tags, fields).blocks or (TagBlock("id3v2.4"),)
        return [item_texts(block.form, item) for item in block.items]

    assert len(tags.blocks[0].items) == 2
    assert ids({"release_mbid": new}) == [new, new]
    assert ids({"release_mbid": ()}) == []


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container.name)
def test_nothing_of_another_release_stays_under_the_names_of_mediafile(
    tmp_path: Path, container: Container
) -> None:
    def others() -> list[object]:
        return [getattr(MediaFile(path), name) for name in of_release]

    of_release: dict[str, object] = {
        "albumartists": ["Old", "Older"], "albumartists_sort": ["Old", "Older"],
        "albumartist_credit": "Old", "albumartists_credit": ["Old", "Older"],
        "albumdisambig": "2004 reissue",
    }  # fmt: skip
    path = container.copy(tmp_path)
    audio = MediaFile(path)
    audio.update(
        of_release
        | {"title": TITLE, "albumartist": "Old", "albumartist_sort": "Old"}
        | {"track": 46, "tracktotal": 47, "disc": 48, "disctotal": 49, "mb_albumid": "old"}
    )
    audio.save()
    old_numbers = {"46", "47", "48", "49"}
    before = others()
    assert None not in before
    now = all_fields(read_tag_set(path))
    same = {name: now[name] for name in ("album_artist", "release_mbid")}
    save_tags(path, lambda tags: with_fields(tags, same | {"album": WANTED["album"]}))
    assert others() == before
    save_tags(path, lambda tags: with_fields(tags, WANTED))
    assert others() == [None] * len(before)
    every = {
        key: [str(text) for text in value] if isinstance(value, list) else [str(value)]
        for key, value in MediaFile(path).mgfile.tags.items()
    }
    assert not [key for key, texts in every.items() if old_numbers.intersection(texts)]
    assert not [key for key, texts in every.items() if any("Old" in text for text in texts)]


@pytest.mark.parametrize(("fields", "problem"), [
    ({"colour": ["red"]}, "there is no field 'colour'; fields are album, "),
    ({"album": ["a", "b"]}, "album has one value, not 2"),
    ({"album": ["a\0b"]}, "album cannot be empty or hold a NUL byte"),
    ({"album": [""]}, "album cannot be empty"),
])  # fmt: skip
def test_values_that_no_field_can_hold_are_refused(
    tmp_path: Path, fields: dict[str, list[str]], problem: str
) -> None:
    tags = read_tag_set(CONTAINERS_BY_NAME["flac"].copy(tmp_path))
    with pytest.raises(AudioError, match=problem):
        with_fields(tags, fields)


def row(field: TagField) -> str:
    cells = [
        ", ".join(f"`{key.removeprefix(FREE)}`" for key in field.keys[family].primary) or "-"
        for family in FAMILIES
    ]
    return " | ".join((f"`{field.name}`", *cells))


def test_the_page_on_tags_lists_the_keys_of_dates_and_of_canon() -> None:
    text = PAGE.read_text("utf-8")
    dates = ("original_date", "original_year", "recording_mbid")
    rows = [row(field) for field in FIELDS if field.name in dates]
    assert [line for line in text.splitlines() if line.startswith("`") and " | " in line] == rows
    for note in (field for field in FIELDS if row(field).count("`CANON_")):
        [key] = note.keys["vorbis"].primary
        assert row(note) == " | ".join((f"`{note.name}`", f"`TXXX:{key}`", *[f"`{key}`"] * 4))
        assert f"`{key}`" in text


def test_the_tests_have_a_value_for_every_field() -> None:
    assert WANTED.keys() == {field.name for field in FIELDS}


# Any text that a tag can hold; numbers, ids and dates in the forms that their keys are defined for.
TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), min_size=1
).filter(lambda text: text == text.strip() and text != "")
MBID = st.uuids().map(str)
DAY = st.dates(date(1000, 1, 1)).map(str)
NUMBER = st.tuples(st.integers(1, 999), st.integers(1, 999)).map("{0[0]}/{0[1]}".format)
FORMS = {
    "date": DAY, "release_date": DAY, "original_date": DAY, "track": NUMBER, "disc": NUMBER,
    "compilation": st.just("1"), "recording_mbid": MBID,
}  # fmt: skip
ANY_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        field.name: st.lists(
            FORMS.get(field.name, TEXT),
            min_size=1,
            max_size=3 if field.is_multiple else 1,
            unique=True,
        ).map(tuple)
        for field in (*FIELDS, *READ_ONLY_FIELDS)
        if field.name != "original_year"  # a part of the original date in WMA
    },
)


@pytest.mark.parametrize(
    "container",
    [container for container in CONTAINERS if "2.3" not in container.name],
    ids=lambda container: container.name,
)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(fields=ANY_FIELDS)
def test_any_fields_are_read_as_they_were_written(
    container: Container, tmp_path: Path, fields: dict[str, tuple[str, ...]]
) -> None:
    path = container.copy(tmp_path)
    with open_audio(path) as source:
        layout = layout_of(source)
        tags = with_fields(layout.tags, fields)
        content = b"".join(source.chunks(file_with_tags(layout, tags)))
    path.write_bytes(content)
    saved = read_tag_set(path)
    assert saved == tags
    assert all_fields(saved) == fields
    assert read_tags(path).title == next(iter(fields.get("title", ())), None)
    assert with_fields(saved, fields) is saved
    assert not any(all_fields(with_fields(saved, dict.fromkeys(fields, ()))).values())
