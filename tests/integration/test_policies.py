"""A compilation of ten tracks through each policy, and what players make of it before and after."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from mutagen.flac import FLAC

from audio import players
from chart_binder.audio.containers import audio_hash, read_tag_set
from integration.compilation import (
    BUNDLES,
    CERTAIN,
    COMPILATION,
    SONGS,
    TITLE,
    compilation_files,
    mbid,
)
from integration.conftest import Canon
from integration.services import asking
from servers.musicbrainz import MusicBrainzStandIn

needs_dask = pytest.mark.skipif(
    not all(map(find_spec, ("distributed", "cryptography"))), reason="Dask is not installed"
)
KINDS = ("flac", "mp3-2.4", "aac")
OLD, NEW = {"2004"}, {"1974", "1975", "1976", "1977"}


@pytest.fixture
def world() -> Iterator[dict[str, str]]:
    with MusicBrainzStandIn(BUNDLES) as mb:
        yield asking(mb)


@pytest.fixture
def cautious(environment: dict[str, str]) -> None:
    """Keep albums whole in Navidrome before 0.55."""
    environment["CANON_TAGS__NAVIDROME_BEFORE_055"] = "true"


def as_seen(files: Sequence[Path]) -> dict[str, object]:
    """What there is of an album, by its ids and as each player counts."""
    tags = [players.read(file) for file in files]
    assert not any("originalalbumid" in each for each in tags)
    return {
        "release ids": len({each["albumid"] for each in tags if "albumid" in each}),
        "release-track ids": len({each["trackid"] for each in tags if "trackid" in each}),
        "titles": len({each["album"] for each in tags}),
        "Navidrome": len(set(map(players.navidrome_album, tags))),
        "Navidrome 0.54": len(set(map(players.former_navidrome_album, tags))),
        "Navidrome tracks": len(set(map(players.navidrome_track, tags))),
        "Picard": len({each.get("albumid") for each in tags}),
        "beets": players.beets_release(tags) is not None,
        "Jellyfin": {each["date"][:4] for each in tags},
        "Music Assistant": set(map(players.music_assistant_year, tags)),
    }


# With what Picard wrote: one release, which stays one but for `move`.
ONE = {
    "release ids": 1, "release-track ids": 10, "titles": 1, "Navidrome": 1, "Navidrome 0.54": 1,
    "Navidrome tracks": 10, "Picard": 1, "beets": True, "Jellyfin": OLD, "Music Assistant": OLD,
}  # fmt: skip
APART = {
    "release ids": 8, "titles": 8, "Navidrome": 8, "Navidrome 0.54": 8, "Picard": 8, "beets": False,
    "Jellyfin": OLD | NEW, "Music Assistant": OLD | NEW,
}  # fmt: skip
# Ripped, without ids: what is written keeps it one album, or it is left out.
RIPPED = ONE | {"release ids": 0, "release-track ids": 0, "beets": False}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("options", "change"), [
    (["--policy=dates"], {"Music Assistant": OLD | NEW}),
    (["--also-date"], {"Music Assistant": OLD | NEW, "Jellyfin": OLD | NEW}),
    (["--whole-albums"], {}), (["--policy=note"], {}), (["--policy=move"], APART),
], ids=lambda each: " ".join(each) if isinstance(each, list) else "")  # fmt: skip
def test_what_players_see_of_an_album_that_picard_tagged(
    canon: Canon, home: Path, world: dict[str, str], kind: str, options: list[str],
    change: dict[str, object],
) -> None:  # fmt: skip
    files = compilation_files(home / "music" / TITLE, kind)
    before = [(read_tag_set(file), audio_hash(file)) for file in files]
    assert as_seen(files) == ONE
    canon("decide", home / "music", **world).must_end(3)
    canon("write", home / "music", *options, "--apply", **world).must_end(3)
    if (kind, options) == ("aac", ["--also-date"]):  # it took an MP4's date for the release date
        change = change | {"Navidrome 0.54": 8}
    assert as_seen(files) == {**ONE, **change}
    assert [audio_hash(file) for file in files] == [sound for _, sound in before]
    if not change and options == ["--whole-albums"]:
        assert canon("undo").status == 1, "nothing was written"
    else:
        canon("undo").must_end(0)
    assert [(read_tag_set(file), audio_hash(file)) for file in files] == before


@pytest.mark.usefixtures("cautious")
@pytest.mark.parametrize(
    ("kind", "songs", "option", "change"),
    [
        # Two of ten tracks have no certain year: Navidrome 0.54 would show two albums.
        *((kind, 10, "--policy=dates", {}) for kind in ("flac", "mp3-2.4")),
        *((kind, 10, "--also-date", {"Music Assistant": OLD | NEW, "Jellyfin": OLD | NEW})
          for kind in ("flac", "mp3-2.4")),
        *((kind, 10, "--in-parts", {"Music Assistant": OLD | NEW, "Navidrome 0.54": 2})
          for kind in ("flac", "mp3-2.4")),
        ("aac", 10, "--policy=dates", {"Music Assistant": OLD | NEW}),
        *((kind, 8, "--policy=dates", {"Music Assistant": NEW}) for kind in KINDS),
        *((kind, 8, "--whole-albums", {"Music Assistant": NEW}) for kind in KINDS),
        *((kind, 8, "--also-date", {"Music Assistant": NEW, "Jellyfin": NEW})
          for kind in ("flac", "mp3-2.4")),
        # Navidrome takes the date of an MP4 file for its release date.
        ("aac", 8, "--also-date", {}),
    ],
)  # fmt: skip
def test_an_album_without_release_ids_stays_one_unless_parts_are_asked_for(
    canon: Canon, home: Path, world: dict[str, str], kind: str, songs: int, option: str,
    change: dict[str, object],
) -> None:  # fmt: skip
    chosen = SONGS if songs == len(SONGS) else CERTAIN
    files = compilation_files(home / "music", kind, with_ids=False, songs=chosen)
    before = RIPPED | {"Navidrome tracks": songs}
    assert as_seen(files) == before
    canon("decide", home / "music", **world)
    ran = canon("write", home / "music", option, "--apply", **world)
    assert as_seen(files) == {**before, **change}
    if not change:
        ran.must_end(3, "not written: skipped because Navidrome", "would split the album")
    batch = canon("batch", home / "music", "--write", option, **world)
    assert batch.status == ran.status
    assert as_seen(files) == {**before, **change}


@pytest.mark.parametrize("kind", KINDS)
def test_an_album_is_written_of_which_some_tracks_stay_undated(
    canon: Canon, home: Path, world: dict[str, str], kind: str
) -> None:
    files = compilation_files(home / "music", kind, with_ids=False)
    files[2].chmod(0o444)
    canon("decide", home / "music", **world)
    call = ("write", home / "music")
    preview = canon(*call).must_end(3, "7 of 10 files would change, 3 not written")
    assert preview.err.splitlines()[-1] == f"next: canon write {home / 'music'} --apply"
    assert "03 Song 3" in preview.out
    canon(*call, "--apply").must_end(3, "7 of 10 files written", "it is read-only")
    files[2].chmod(0o644)
    canon("batch", home / "music", "--write", **world).must_end(3, "1 written, 7 nothing to change")
    now = as_seen(files)
    assert (now["Navidrome"], now["Music Assistant"]) == (1, OLD | NEW)
    assert now["Navidrome 0.54"] == (1 if kind == "aac" else 2)


@pytest.mark.usefixtures("cautious")
@pytest.mark.parametrize(("kind", "option"), [("aac", "--also-date"), ("flac", "--policy=dates")])
def test_a_whole_album_is_left_out_where_only_some_tracks_would_come_apart(
    canon: Canon, home: Path, world: dict[str, str], kind: str, option: str
) -> None:
    files = compilation_files(home / "music", "flac", with_ids=False, songs=CERTAIN[:2])
    files += compilation_files(home / "music", kind, with_ids=False, songs=CERTAIN[2:4])
    if kind == "flac":
        for number, file in enumerate(files):
            audio = FLAC(file)
            audio["date" if number < 2 else "releasedate"] = "1975-11-20" if not number else "2004"
            audio.save()
    canon("decide", home / "music", **world).must_end(0)
    for options, states in (["--whole-albums"], [4]), ([], [2, 2]):
        ran = canon("write", home / "music", option, *options, "--apply", "--output=json", **world)
        found = Counter(line["state"] for line in ran.must_end(3).lines)
        assert (list(found.values()), found["refused"]) == (states, states[0])


@pytest.mark.usefixtures("cautious")
def test_one_file_is_read_with_its_album(canon: Canon, home: Path, world: dict[str, str]) -> None:
    files = compilation_files(home / "music", "flac", with_ids=False, songs=CERTAIN)
    canon("decide", home / "music", **world).must_end(0)
    (line,) = canon("write", files[0], "--output=json").must_end(3).lines
    assert line["state"] == "refused"
    assert "7 of 8 tracks would have no original date" in line["why"]
    canon("write", home / "music", "--output=json").must_end(0)
    for disc, part in (("CD 1", files[:4]), ("CD 2", files[4:])):
        (home / "music" / disc).mkdir()
        for file in part:
            file.rename(home / "music" / disc / file.name)
    canon("decide", home / "music", **world).must_end(0)
    canon("write", home / "music" / "CD 1").must_end(3, "4 of 8 tracks would have no original date")
    canon("write", "../music/CD 1").must_end(3, "4 of 8 tracks would have no original date")
    canon("write", home / "music").must_end(0, "8 files would change", "CD 1/01 Song 1.flac: ")
    canon("write", "../music").must_end(0, "8 files would change", "CD 1/01 Song 1.flac: ")


@pytest.mark.usefixtures("cautious")
def test_a_track_that_was_not_found_gets_the_release_date_alone(
    canon: Canon, home: Path, world: dict[str, str]
) -> None:
    files = compilation_files(home / "music", "flac", with_ids=False, songs=CERTAIN)
    unknown = FLAC(files[7])
    unknown.delete()
    unknown.update(
        TITLE="Nowhere", ARTIST="Nobody", ALBUM=TITLE, DATE="2004", ALBUMARTIST="Various Artists"
    )
    unknown.save()
    canon("decide", home / "music", **world).must_end(3)
    canon("write", home / "music").must_end(
        3, "would split the album: 1 of 8 tracks would have no original date; --in"
    )
    *_, line = canon("write", home / "music", "--also-date", "--output=json").must_end(3).lines
    assert line["why"].startswith("unmatched: ")
    assert [(one["field"], one["new"]) for one in line["changes"]] == [("release_date", ["2004"])]
    canon("write", home / "music", "--also-date", "--apply").must_end(3, "1 without a new date")
    assert as_seen(files)["Navidrome"] == 1
    canon("review", "list").must_end(3, "1 case needs you")
    canon("undo").must_end(0)


@pytest.mark.usefixtures("cautious")
@pytest.mark.parametrize(("hinder", "helps"), [
    (lambda file: file.chmod(0o444), "it is read-only: make it writable"),
    (lambda file: file.with_suffix(".copy").hardlink_to(file), "use --copy-links to replace"),
], ids=["read-only", "hard link"])  # fmt: skip
@pytest.mark.parametrize("options", [[], ["--whole-albums"]])
def test_what_may_not_be_written_is_known_before_its_album_is_written(
    canon: Canon, home: Path, world: dict[str, str], options: list[str],
    hinder: Callable[[Path], object], helps: str,
) -> None:  # fmt: skip
    files = compilation_files(home / "music", "flac", with_ids=False, songs=CERTAIN)
    before = as_seen(files)
    hinder(files[2])
    canon("decide", home / "music", **world).must_end(0)
    for call in (["write"], ["write", "--apply"], ["batch", "--write"], ["batch", "--write"]):
        ran = canon(*call, home / "music", *options, **world)
        ran.must_end(3)
        assert as_seen(files) == before
    lines = canon("write", home / "music", *options, "--output=json").lines
    assert {line["state"] for line in lines} == {"refused"}
    assert helps in lines[2]["why"]
    assert f"'{files[2].name}': {lines[2]['why']}" in lines[0]["why"]
    canon("review", "list").must_end(3, helps)


@pytest.mark.usefixtures("cautious")
@pytest.mark.parametrize(("place", "discs", "options"), [
    ("{} ", 7, []), ("CD {}/", 4, []),
    pytest.param("CD {}/", 4, ["--executor=dask"], marks=needs_dask),
], ids=["more than 50 files", "more than 24 files in folders of discs", "by Dask"])  # fmt: skip
def test_a_batch_dates_an_album_when_its_last_file_is_decided(
    canon: Canon, home: Path, world: dict[str, str], place: str, discs: int, options: list[str]
) -> None:
    files = []
    for disc in range(1, discs + 1):
        for file in compilation_files(home / "made", "flac", with_ids=False, songs=CERTAIN):
            files.append(home / "music" / f"{place.format(disc)}{file.name}")
            files[-1].parent.mkdir(parents=True, exist_ok=True)
            file.rename(files[-1])
    call = ("batch", home / "music", "--write", "--output=json", *options)
    lines = canon(*call, "--dry-run", **world).must_end(0).lines
    assert Counter(line["tags"]["fate"] for line in lines) == {"planned": len(files)}
    files[-1].chmod(0o444)
    lines = canon(*call, **world).must_end(3).lines
    assert Counter(line["tags"]["fate"] for line in lines) == {"refused": len(files)}
    files[-1].chmod(0o644)
    for fate in ("written", "unchanged"):
        lines = canon(*call, **world).must_end(0).lines
        assert Counter(line["tags"]["fate"] for line in lines) == {fate: len(files)}
    assert len({players.former_navidrome_album(players.read(file)) for file in files}) == 1


@contextmanager
def changed_all_the_time(file: Path) -> Iterator[None]:
    """Change the time of a long file over and over, which only a save notices."""
    os.truncate(file, 40_000_000)
    end = Event()

    def change() -> None:
        for moment in count(10**18):
            os.utime(file, ns=(moment, moment))
            if end.is_set():
                return

    with ThreadPoolExecutor(1) as executor:
        executor.submit(change)
        try:
            yield
        finally:
            end.set()


@pytest.mark.usefixtures("cautious")
@pytest.mark.parametrize("place", [0, 3])
def test_half_an_album_is_told(canon: Canon, home: Path, world: dict[str, str], place: int) -> None:
    files = compilation_files(home / "music", "flac", with_ids=False, songs=CERTAIN)
    before = [read_tag_set(file) for file in files]
    canon("decide", home / "music", **world).must_end(0)
    with changed_all_the_time(files[place]):
        ran = canon("write", home / "music", "--apply", "--output=json").must_end(1)
    states = ["written"] * len(files) if place else ["refused"] * len(files)
    states[place] = "failed"
    assert [line["state"] for line in ran.lines] == states
    if place:
        run = ran.lines[0]["run_id"]
        assert (
            "3 files are already written, so Navidrome may split its album"
            in ran.lines[place]["why"]
        )
        canon("undo", run).must_end(0)
    assert [read_tag_set(file) for file in files] == before


@pytest.mark.usefixtures("cautious")
def test_unwritten_files_wait_in_review(canon: Canon, home: Path, world: dict[str, str]) -> None:
    files = compilation_files(home / "music", "flac", with_ids=False)
    canon("decide", home / "music", **world)
    canon("write", home / "music").must_end(3)  # shows, and keeps nothing
    assert canon("review", "list", "--output=json").must_end(3).out.count("not written") == 0
    canon("write", home / "music", "--apply").must_end(3)
    told = "2 cases need you; 8 files not written"
    shown = canon("review", "list").must_end(3, told, "8 files: skipped because Navidrome")
    assert shown.out.count(str(home)) == 1 + 3  # the folder of two, and three of the eight
    lines = canon("review", "list", "--output=json").lines
    assert [line["state"] for line in lines].count("not written") == 8
    assert canon("review", "list", home / "work", "--output=json").must_end(0).lines == []
    # Decided again, gone, or written since: no longer listed.
    canon("decide", files[0], **world)
    files[1].unlink()
    canon("write", home / "music", "--policy=note", "--apply").must_end(3)
    canon("review", "list").must_end(3, "2 cases need you\n")
    canon("batch", home / "music", "--write", **world).must_end(3)
    canon("review", "list").must_end(3, "2 cases need you; 7 files not written")


def test_the_screen_of_a_split_album(canon: Canon, home: Path, world: dict[str, str]) -> None:
    folder = home / "music" / TITLE
    compilation_files(folder, "flac")
    canon("decide", folder, **world)
    moved = canon("write", folder, "--policy=move", **world).out
    first, rest = moved.split(f"\n{TITLE}", 1)
    assert first.replace("\n  ", " ").startswith(
        "8 of 10 files would change, 2 not written\n"
        f"falls apart: '{TITLE}', 8 files into 'Opera' (2)"
    )
    assert "album                  Hits of the Seventies -> Rumours" in rest
    assert rest.index("album  ") < rest.index("release group  ")
    assert mbid("release Opera") not in moved
    assert mbid("release Opera") in canon("write", folder, "--policy=move", "-v", **world).out


def test_albums_come_together(canon: Canon, home: Path, world: dict[str, str]) -> None:
    compilation_files(home / "music" / "A", "flac", songs=SONGS[:1])
    compilation_files(home / "music" / "B", "flac", with_ids=False, songs=SONGS[1:2])
    canon("decide", home / "music", **world)
    told = canon("write", home / "music", "--policy=move", "--output=json", **world).must_end(0).err
    assert f"comes together: 'Opera', 2 files from '{TITLE}' (1), '{TITLE}' (1)" in told
    ran = canon("batch", home / "music", "--write", "--policy=move", **world)
    assert f"becomes another release: '{TITLE}' to 'Opera' (1)" in ran.err
    tags = [players.read(file) for file in sorted((home / "music").rglob("*.flac"))]
    assert {each["albumid"] for each in tags} == {mbid("release Opera")}
    assert [each["track"] for each in tags] == ["1", "2"]
    assert not any("compilation" in each for each in tags)


def test_a_move_needs_the_release_tracks(canon: Canon, home: Path, world: dict[str, str]) -> None:
    (file,) = compilation_files(home / "music", "flac", songs=SONGS[2:3])
    canon("decide", file, **world).must_end(0)
    offline = canon("write", file, "--policy=move", "--offline", "--output=json", **world)
    (line,) = offline.must_end(3).lines
    assert line["why"].startswith("the tracks of its release are not known: ")
    assert "run once without --offline" in line["why"]
    canon("write", file, "--policy=move", **world).must_end(0)
    canon("write", file, "--policy=move", "--offline", **world).must_end(0)  # they are kept
    assert players.read(file)["albumid"] == COMPILATION


def test_the_policy_of_the_configuration(canon: Canon, home: Path, world: dict[str, str]) -> None:
    (file,) = compilation_files(home / "music", "flac", songs=SONGS[2:3])
    canon("decide", file, **world)
    for policy, option in (("note", ()), ("dates", ("--policy=dates",))):
        (line,) = canon("write", file, *option, "--output=json", CANON_TAGS__POLICY="note").lines
        assert line["policy"] == policy
