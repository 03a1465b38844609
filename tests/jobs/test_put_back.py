"""A file that another program saved says after an undo what it would say if nobody had written it.

`resaving.py` has the files, the programs and the comparison.
"""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import mutagen
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from mutagen.apev2 import APEv2
from mutagen.id3 import ID3, TALB, TIT2

from audio.odd_files import bare, id3v1, make
from audio.tagging import CONTAINERS_BY_NAME, WANTED
from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.field_table import FREE
from chart_binder.audio.fields import all_fields
from chart_binder.audio.save import save_tags
from chart_binder.audio.tagset import TagBlock, TagItem, TagSet
from chart_binder.jobs.journal import last_done
from chart_binder.jobs.write import WriteStatus
from chart_binder.store import Store
from jobs.resaving import (
    EDITS,
    NEW_VALUES,
    POLICIES,
    VALUES,
    combinations,
    id3_file,
    outcome,
    seen,
    undo,
    write,
)

ID3_EDITS = {edit.name: edit for edit in EDITS if ".mp3" in edit.suffixes}
OTHER_AUDIO = "its audio is not the audio that the tags were written for"


def differences(store: Store, folder: Path, step: int) -> Iterator[str]:
    for label, original, edit, policy in combinations(folder, step):
        place = Path(tempfile.mkdtemp(dir=folder))
        result = outcome(store, original, place, POLICIES[policy], edit.save)
        if result is None or result.report.why == OTHER_AUDIO:
            continue
        texts = [*result.differences(), *(key.field for key in result.report.kept_keys)]
        if texts or result.report.status not in (WriteStatus.UNDONE, WriteStatus.UNCHANGED):
            yield f"{label}, {edit.name}, {policy}: {result.report.why} {'; '.join(texts)}"


def test_files_say_what_they_would_say_without_the_write(store: Store, tmp_path: Path) -> None:
    assert list(differences(store, tmp_path, 43)) == []


@pytest.mark.slow
def test_all_files_say_what_they_would_say_without_the_write(store: Store, tmp_path: Path) -> None:
    assert list(differences(store, tmp_path, 1)) == []


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)


@st.composite
def id3_files(draw: st.DrawFn) -> bytes:
    """Return an MP3 file with a tag of any version and any texts."""
    version = draw(st.sampled_from((2, 3, 4)))
    values = VALUES | NEW_VALUES if version == 4 else VALUES
    old_dates = ("TYER", "TDAT", "TIME", "TORY", "TXXX:RELEASEDATE") if version == 4 else ()
    keys = draw(st.lists(st.sampled_from(sorted({*values} - {*old_dates})), unique=True))
    dates = {"TYER", "TDAT", "TIME", "TORY", "TDRC", "TDOR", "TDRL"}
    frames = {
        key: draw(
            st.sampled_from(values[key])
            if key in dates or key.startswith("UFID")
            else st.sampled_from(values[key]) | TEXTS
        )
        for key in keys
    }
    tail = draw(st.sampled_from((b"", id3v1())))
    return id3_file(version, {"TIT2": "Sober"} | frames, tail)


@settings(deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(id3_files(), st.sampled_from(sorted(ID3_EDITS)), st.sampled_from(sorted(POLICIES)))
@example(
    id3_file(2, {"TIT2": "Sober", "TDAT": "3113", "TYER": "1993-04-06", "TIME": "1230"}),
    "mutagen 2.3 with names of 2.4",
    "move",
)
def test_any_texts_are_put_back(
    store: Store, tmp_path: Path, content: bytes, edit: str, policy: str
) -> None:
    # If the frame of the year has a whole date and that of the day another one, TagLib takes the
    # former and mutagen the latter; the undo does as mutagen.
    has_two_days = b"1993-04-06" in content and (b"TDAT" in content or b"TDA\0" in content)
    assume(not (has_two_days and edit == "TagLib"))
    place = Path(tempfile.mkdtemp(dir=tmp_path))
    original = place / "original.mp3"
    original.write_bytes(content)
    result = outcome(store, original, place, POLICIES[policy], ID3_EDITS[edit].save)
    if result is not None:
        assert (list(result.differences()), result.report.kept_keys) == ([], ())


def retitled(path: Path) -> None:
    tags = ID3(path, translate=False)
    tags.add(TIT2(encoding=3, text="Mine"))
    tags.save(path, v2_version=tags.version[1] if tags.version[1] > 2 else 3)


def with_another_album(save: Callable[[Path], None], path: Path) -> None:
    save(path)
    version = ID3(path).version[1]
    tags = ID3(path, v2_version=version)
    tags.add(TALB(encoding=3, text="My album"))
    tags.save(path, v2_version=version)


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("edit", [name for name in ID3_EDITS if "v1=" in name])
def test_what_somebody_changed_stays(store: Store, tmp_path: Path, version: int, edit: str) -> None:
    frames = {"TIT2": "Sober", "TALB": "Undertow", "TRCK": "02/14", "TPE2": "Tool"}
    dates = {"TDRC": "1993-04-06"} if version == 4 else {"TYER": "1993", "TDAT": "0604"}
    original = tmp_path / "original.mp3"
    original.write_bytes(id3_file(version, frames | dates))
    save = partial(with_another_album, ID3_EDITS[edit].save)
    result = outcome(store, original, tmp_path, POLICIES["move"], save, retitled)
    assert result is not None
    assert (result.undone["TIT2"], result.undone["TALB"]) == (("Mine",), ("My album",))
    assert [(key.field, key.new, key.before) for key in result.report.kept_keys] == [
        ("TALB", ("My album",), ("Undertow",))
    ]
    assert "TIT2" in {key.field for key in result.report.other_keys}
    assert result.undone == result.reference
    path = tmp_path / "written.mp3"
    assert undo(store, result.record, force=True).kept_keys == ()
    assert seen(path) == result.reference | {"TALB": ("Undertow",)}


@pytest.mark.parametrize("key", ["TORY", "TXXX:originalyear", "TALB"])
def test_an_empty_text_is_put_back(store: Store, tmp_path: Path, key: str) -> None:
    original = tmp_path / "original.mp3"
    original.write_bytes(id3_file(3, {"TIT2": "Sober", key: ""}))
    save = ID3_EDITS["mutagen 2.4 v1=1"].save
    result = outcome(store, original, tmp_path, POLICIES["move"], save)
    assert result is not None
    assert (result.report.status, list(result.differences())) == (WriteStatus.UNDONE, [])


def test_what_was_copied_into_id3v1_is_removed_where_it_is_what_was_written(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "song.mp3"
    path.write_bytes(id3_file(3, {"TIT2": "Sober"}))
    record = write(store, path, POLICIES["move"])
    assert record is not None
    ID3_EDITS["mutagen 2.4 v1=2"].save(path)
    report = undo(store, record)
    assert seen(path) == {"TIT2": ("Sober",)}
    assert "ID3v1" in {change.field for change in report.changes}
    (copied,) = report.other_keys
    assert (copied.field, copied.new) == ("ID3v1", ("Sober",))
    with_id3v1 = seen(path, with_id3v1=True)
    assert with_id3v1 == {"TIT2": ("Sober",)}
    assert path.read_bytes()[-128:-95] == b"TAG" + b"Sober".ljust(30, b"\0")


def test_an_id3v1_tag_with_nothing_but_what_was_written_is_removed(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "song.mp3"
    path.write_bytes(before := bare("bare.mp3"))
    record = write(store, path, POLICIES["move"])
    assert record is not None
    ID3_EDITS["mutagen 2.4 v1=2"].save(path)
    assert path.read_bytes()[-128:-125] == b"TAG"
    assert undo(store, record).other_keys == ()
    assert path.read_bytes().endswith(before)


@pytest.mark.parametrize("v1", [0, 1, 2])
def test_what_a_new_tag_got_from_id3v1_stays_when_that_changes(
    store: Store, tmp_path: Path, v1: int
) -> None:
    path = tmp_path / "song.mp3"
    path.write_bytes(bare("bare.mp3") + id3v1())
    before = all_fields(read_tag_set(path))
    record = write(store, path, POLICIES["move"])
    assert record is not None
    ID3_EDITS[f"mutagen 2.4 v1={v1}"].save(path)
    undo(store, record)
    assert all_fields(read_tag_set(path)) == before


TWO_NAMES = [
    ("wavpack", {"DATE": "1993-04-06"}),
    ("wavpack", {"Year": "1993", "DATE": "1993-04-06"}),
    ("wavpack", {"DISCNUMBER": "4", "TRACKNUMBER": "7"}),
    ("ape", {"Disc": "2", "DISCNUMBER": "2"}),
    ("mpc-8", {"DATE": "1993-04-06", "Disc": "2/2", "DISCNUMBER": "2"}),
    ("mp3-2.4", {"TPUB": "Zoo", "TXXX:LABEL": "BMG"}),
]


@pytest.mark.parametrize(("name", "values"), TWO_NAMES)
def test_two_keys_that_taglib_saves_as_one_are_put_back(
    store: Store, tmp_path: Path, name: str, values: dict[str, str]
) -> None:
    taglib = pytest.importorskip("taglib")
    path = CONTAINERS_BY_NAME[name].tagged(
        tmp_path, [(key, [text]) for key, text in values.items()]
    )
    before = seen(path)
    record = write(store, path, POLICIES["move"])
    assert record is not None
    fields = seen(path)
    with taglib.File(path) as file:
        file.save()
    assert len(seen(path)) < len(fields)
    assert undo(store, record).kept_keys == ()
    assert seen(path) == before


def test_of_two_keys_of_a_field_both_are_put_back_or_none(store: Store, tmp_path: Path) -> None:
    path = CONTAINERS_BY_NAME["wavpack"].tagged(tmp_path, [("DATE", ["1993-04-06"])])
    before = seen(path)
    record = write(store, path, {"date": ("2011",)})
    assert record is not None
    audio: Any = mutagen.File(path)
    audio["Year"] = "2004"
    audio.save()
    report = undo(store, record)
    assert {(key.field, key.new) for key in report.kept_keys} == {
        ("Year", ("2004",)), ("DATE", ("2011",))
    }  # fmt: skip
    assert seen(path) == {"YEAR": ("2004",), "DATE": ("2011",)}
    undo(store, record, force=True)
    assert seen(path) == before


@pytest.mark.parametrize("name", ["mp3-2.4", "ape", "wavpack", "mpc-7", "flac"])
def test_an_id3v1_tag_of_what_was_written_hinders_no_undo(
    store: Store, tmp_path: Path, name: str
) -> None:
    path = CONTAINERS_BY_NAME[name].fully_tagged(tmp_path)
    before = path.read_bytes()
    record = write(store, path, {"date": ("2011-09-05",), "track": ("5/12",)})
    assert record is not None
    tag = b"TAG" + bytes(90) + b"2011" + bytes(29) + b"\5\xff"
    path.write_bytes(path.read_bytes() + tag)
    report = undo(store, record)
    assert (report.status, report.kept_keys) == (WriteStatus.UNDONE, ())
    # FLAC files are written up to the frames: the tag behind them stays.
    assert path.read_bytes() == before or (name == "flac" and path.read_bytes().endswith(tag))
    assert [key.field for key in report.other_keys] == (["ID3v1"] if name == "flac" else [])


def info_of(path: Path) -> dict[str, bytes]:
    block = read_tag_set(path).block("riff-info")
    return {item.key: item.data.rstrip(b"\0") for item in block.items} if block else {}


@pytest.mark.parametrize("earlier", [{}, {"IPRD": b"Old", "ICMT": b"odd"}], ids=["bare", "INFO"])
def test_what_taglib_copied_into_info_is_removed_where_it_is_what_was_written(
    store: Store, tmp_path: Path, earlier: dict[str, bytes]
) -> None:
    taglib = pytest.importorskip("taglib")
    path = CONTAINERS_BY_NAME["wav"].tagged(tmp_path, [("TIT2", ["Sober"]), ("TALB", ["Old"])])
    items = tuple(TagItem(key, text) for key, text in earlier.items())
    info = (TagBlock("riff-info", items),) if items else ()
    save_tags(path, lambda tags: TagSet(tags.container, (*tags.blocks, *info)), is_undo=True)
    before = seen(path)
    assert info_of(path) == earlier
    record = write(store, path, POLICIES["move"])
    assert record is not None
    with taglib.File(path) as file:
        file.tags["COMMENT"] = ["Mine"]
        file.save()
    assert info_of(path)["ICRD"] == b"2011-09-05"
    report = undo(store, record)
    assert {"ICRD", "IPUB"} <= {change.field for change in report.changes}
    # The album of an INFO list that had one is not what it was, and stays.
    album = {"IPRD": WANTED["album"][0].encode()} if earlier else {}
    assert info_of(path) == {"INAM": b"Sober", "ICMT": b"Mine"} | album
    assert ("IPRD" in {key.field for key in report.other_keys}) == bool(earlier)
    now = seen(path)
    assert {key: now[key] for key in before} == before
    # That undo is undone, too, after a further change.
    undoing = last_done(store, path)
    assert undoing is not None
    audio: Any = mutagen.File(path)
    audio.tags.add(TIT2(encoding=3, text="Mine"))
    audio.save()
    undo(store, undoing)
    assert info_of(path)["ICRD"].startswith(b"2011-09-05")
    assert all_fields(read_tag_set(path))["album"] == WANTED["album"]


@pytest.mark.parametrize(
    ("name", "copy"),
    [
        ("aac", f"{FREE}MUSICBRAINZ_ALBUMID"),
        ("flac", "MusicBrainz/AlbumId"),
        ("wma", "MUSICBRAINZ_ALBUMID"),
        ("ape", "MusicBrainz Album Id"),
        ("mp3-2.4", "TXXX:MUSICBRAINZ_ALBUMID"),
    ],
)
def test_a_tag_of_nothing_but_a_copy_of_what_was_written_is_removed(
    store: Store, tmp_path: Path, name: str, copy: str
) -> None:
    container = CONTAINERS_BY_NAME[name]
    path = container.copy(tmp_path)
    before = seen(path)
    record = write(store, path, {"release_mbid": WANTED["release_mbid"]})
    assert record is not None
    fields = seen(path)
    audio = container.opener(path)
    container.write(audio, [(copy, WANTED["release_mbid"])])
    assert len(seen(path)) == len(fields) + 1
    assert undo(store, record).kept_keys == ()
    assert seen(path) == before


def test_a_key_that_taglib_adds_in_capitals_is_removed(store: Store, tmp_path: Path) -> None:
    taglib = pytest.importorskip("taglib")
    key = f"{FREE}publisher"
    path = CONTAINERS_BY_NAME["aac"].tagged(tmp_path, [(key, ["Zoo"])])
    before = seen(path)
    record = write(store, path, {"labels": ("EMI",)})
    assert record is not None
    with taglib.File(path) as file:
        file.save()
    assert len(seen(path)) >= len(before)
    assert undo(store, record).kept_keys == ()
    assert [str(item.key) for block in read_tag_set(path).blocks for item in block.items] == [key]


def _with_ape(path: Path) -> None:
    tag = APEv2()
    tag["REPLAYGAIN_TRACK_GAIN"] = "-3 dB"
    tag.save(path)


TAGS_IN_ODD_ORDER: dict[str, Callable[[Path], None]] = {
    "MP3 with ID3v1 alone": _with_ape,
    "MP3 with ID3v1 before APE": lambda path: APEv2(path).delete(),
    "MP3 with two ID3v1 tags": lambda path: ID3(path).save(path, v1=0),
    "MP3 with two ID3v2 tags": lambda path: ID3(path).save(path, padding=lambda _: 0),
    "MP4 with ID3v1 behind its boxes": _with_ape,
}


@pytest.mark.parametrize("name", TAGS_IN_ODD_ORDER)
def test_tags_that_others_add_or_drop_are_no_other_audio(
    store: Store, tmp_path: Path, name: str
) -> None:
    path = make(name, tmp_path)
    before = all_fields(read_tag_set(path))
    record = write(store, path, POLICIES["dates"])
    TAGS_IN_ODD_ORDER[name](path)
    assert record is not None
    report = undo(store, record)
    assert (report.status, report.kept_keys) == (WriteStatus.UNDONE, ())
    assert all_fields(read_tag_set(path)) == before
