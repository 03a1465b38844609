"""Other programs read back what is written."""

import json
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest
from mediafile import (
    ASFStorageStyle,
    MediaField,
    MediaFile,
    MP3DescStorageStyle,
    MP4StorageStyle,
    StorageStyle,
)

from audio.tagging import CONTAINERS, Container
from audio.wanted import WANTED
from chart_binder.audio.fields import with_fields
from chart_binder.audio.reading import read_tags
from chart_binder.audio.save import save_tags


class Read(MediaFile):  # type: ignore[misc]  # mediafile has no type information
    """What mediafile reads, with the two fields that it does not know."""

    decision_trace = MediaField(
        MP3DescStorageStyle("CANON_TRACE"),
        MP4StorageStyle("----:com.apple.iTunes:CANON_TRACE"),
        StorageStyle("CANON_TRACE"),
        ASFStorageStyle("CANON_TRACE"),
    )


def first(name: str) -> str:
    return WANTED[name][0]


# mediafile's name for a field, what it must read.
READ = {
    "mb_trackid": first("recording_mbid"),
    "mb_releasetrackid": first("release_track_mbid"),
    "mb_albumid": first("release_mbid"),
    "mb_releasegroupid": first("release_group_mbid"),
    "mb_artistids": list(WANTED["artist_mbids"]),
    "mb_albumartistids": list(WANTED["album_artist_mbids"]),
    "album": first("album"),
    "albumartist": first("album_artist"),
    "date": date(2011, 9, 5),
    "original_date": date(1974, 10, 11),
    "original_year": 1974,
    "albumtypes": list(WANTED["release_types"]),
    "albumstatus": first("release_status"),
    "country": first("release_country"),
    "label": first("labels"),
    "catalognums": list(WANTED["catalog_numbers"]),
    "media": first("media"),
    "decision_trace": first("decision_trace"),
}


def named(container: Container) -> str:
    return container.name


@pytest.mark.parametrize("full", [False, True], ids=["bare", "tagged"])
@pytest.mark.parametrize("container", CONTAINERS, ids=named)
def test_mediafile_reads_every_field_of_every_container(
    tmp_path: Path, container: Container, *, full: bool
) -> None:
    path = container.fully_tagged(tmp_path) if full else container.copy(tmp_path)
    title = MediaFile(path).title
    save_tags(path, lambda tags: with_fields(tags, WANTED))
    audio = Read(path)
    expected = dict(READ)
    if full and container.name.endswith("2.3"):
        expected["original_date"] = date(1974, 1, 1)  # there is room for the year only
    assert {name: getattr(audio, name) for name in expected} == expected
    assert audio.title == title
    own = read_tags(path)
    assert (own.recording_mbid, own.release_group_mbid, own.date) == (
        first("recording_mbid"), first("release_group_mbid"), first("date")
    )  # fmt: skip


FFPROBE = shutil.which("ffprobe")

# It shows no tags of DSF; the others were written by hand and hold nothing that it could decode.
NOT_BY_FFPROBE = {"dsf", "ape", "mpc-7", "mpc-8"}


QUICK = {"mp3-2.3", "flac", "ogg", "aac-fast", "wma"}


@pytest.mark.skipif(FFPROBE is None, reason="ffprobe is not installed")
@pytest.mark.parametrize(
    "container",
    [
        pytest.param(each, marks=() if each.name in QUICK else pytest.mark.slow, id=each.name)
        for each in CONTAINERS
        if each.name not in NOT_BY_FFPROBE
    ],
)
def test_ffprobe_reads_them_and_the_same_sound(tmp_path: Path, container: Container) -> None:
    path = container.fully_tagged(tmp_path)
    before = decoded(path)
    save_tags(path, lambda tags: with_fields(tags, WANTED))
    found = probed(path)
    assert first("release_mbid") in found
    assert first("album") in found
    assert first("decision_trace") in found
    assert first("catalog_numbers") in found
    assert decoded(path) == before


def probed(path: Path) -> set[str]:
    """Return the values of all tags that ffprobe shows."""
    command = [str(FFPROBE), "-v", "error", "-of", "json", "-show_format", "-show_streams"]
    run = subprocess.run([*command, str(path)], capture_output=True, check=True)
    assert run.stderr == b""
    document = json.loads(run.stdout)
    parts = [document["format"], *document["streams"]]
    return {value for part in parts for value in part.get("tags", {}).values()}


def decoded(path: Path) -> bytes:
    """Return a digest of the samples that ffmpeg decodes."""
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-map", "0:a", "-f", "md5", "-"]
    return subprocess.run(command, capture_output=True, check=True).stdout
