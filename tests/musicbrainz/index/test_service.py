"""Single look-ups in an index of real rows."""

import shutil
import sqlite3
from contextlib import nullcontext
from pathlib import Path

import pytest

from chart_binder.config import LLMConfig
from chart_binder.domain.vocabulary import ArtistId, RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.evidence import whole_release
from chart_binder.musicbrainz.index import layout
from chart_binder.musicbrainz.index.keys import title_hash
from chart_binder.musicbrainz.index.service import IndexService
from chart_binder.musicbrainz.tool import musicbrainz
from musicbrainz.index.building import DUMP, build

NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "real"
    build(DUMP, path)
    return path


@pytest.fixture
def client(index: Path) -> Client:
    return Client(IndexService(index))


def gid_of(path: Path, query: str) -> str:
    """Return the MBID in the first row of a query."""
    file = layout.open_index(path)
    row = file.execute(query).fetchone()
    file.close()
    return layout.gid_text(row[0])


def test_a_release_comes_with_its_tracks(client: Client, index: Path) -> None:
    mix = gid_of(
        index,
        "SELECT r.gid FROM release r JOIN release_group g ON g.id = r.release_group"
        " WHERE g.name = 'Trentemøller: The Pølar Mix'",
    )
    record = client.release(ReleaseId(mix))
    assert record
    release = whole_release(record)
    assert (release.artist, release.discs, release.date.text) == ("Trentemøller", 2, "2007-03-23")
    assert (release.labels, release.catalog_numbers) == (("King Biscuit Recordings",), ("KBCD109",))
    assert release.types == ("album", "compilation")
    numbers = [(track.disc, track.number, track.total) for track in release.tracks]
    assert numbers == [*((1, n, 12) for n in range(1, 13)), *((2, n, 13) for n in range(1, 14))]
    assert len({track.mbid for track in release.tracks}) == 25
    of_mix = {artist for track in release.tracks for artist in track.artist_mbids}
    assert len(of_mix) > 10, "a mix has tracks by many artists"


def test_a_credit_of_two_artists_has_both(client: Client) -> None:
    (group,) = (
        client.search_by_title("release-group", "A Milestone", "Jagjit Singh").release_group_list
        or ()
    )
    assert group.artist_credit_phrase == "Jagjit Singh"
    releases, _ = client.first_releases_of("release-group", group.id)
    (release,) = (release for release in releases if release.credits[1:])
    assert release.artist_credit_phrase == "Jagjit Singh & Chitra Singh"
    names = [credit.artist.sort_name for credit in release.credits]
    assert names == ["Singh, Jagjit", "Singh, Chitra"]
    assert whole_release(release).artist_sort == "Singh, Jagjit & Singh, Chitra"


@pytest.mark.parametrize(("artist", "first", "last", "titles"), [
    ("Pink Floyd", 1973, 1973, ["The Dark Side of the Moon"]),
    ("pink floyd", 1960, 1972, []), ("Nobody", 1900, 2030, []),
    ("Blind Melon", 1900, 2030, []),  # its group has no date
])  # fmt: skip
def test_groups_of_years(
    client: Client, artist: str, first: int, last: int, titles: list[str]
) -> None:
    groups, count = client.groups_of_years(artist, first, last)
    assert ([group.title for group in groups], count) == (titles, len(titles))


def test_a_group_is_found_among_many_of_its_title(index: Path, tmp_path: Path) -> None:
    many = Path(shutil.copy(index, tmp_path / "many"))
    with sqlite3.connect(many) as file:
        rows = ((title_hash("Aerial"), -number) for number in range(1, 9_001))
        file.executemany("INSERT INTO group_title VALUES (?, ?)", rows)
    file.close()
    found = Client(IndexService(many)).search_by_title("release-group", "Aerial", "Kate Bush")
    assert [group.title for group in found.release_group_list or ()] == ["Aerial"]


@pytest.mark.parametrize(("query", "words"), [
    ({"query": "Aerial", "artist": "Kate Bush"}, ["Release group", "2005-11-07", "GB"]),
    ({"query": "Aerial", "artist": "Kate Bush", "what": "releases"}, ["2005-11-08, US"]),
    ({"query": "Aerial", "artist": "Kate Bush", "what": "recordings"}, ["recording id"]),
    ({"query": "Aerial"}, ["by Kate Bush"]),
    ({"query": "1973", "artist": "Pink Floyd", "what": "of_years"}, ["The Dark Side"]),
    ({"query": NOWHERE}, ["MusicBrainz knows no release-group"]),
    ({"query": "No such record", "artist": "Kate Bush"}, ["MusicBrainz knows no release group"]),
])  # fmt: skip
def test_the_tool_of_a_model(client: Client, query: dict[str, str], words: list[str]) -> None:
    tool = musicbrainz(LLMConfig(), lambda: nullcontext(client))
    shown = tool.call(query).run().content
    assert [word for word in words if word not in shown] == [], shown


def test_what_is_not_there_is_none(client: Client) -> None:
    assert client.recording(RecordingId(NOWHERE)) is None
    assert client.recording(RecordingId("no id")) is None
    assert client.artist(ArtistId(NOWHERE)) is None
    assert client.release(ReleaseId(NOWHERE)) is None
    assert client.release_group(ReleaseGroupId(NOWHERE)) is None
    assert client.recordings_with("GBXXX0000000") == ()
    assert client.releases_of(RecordingId(NOWHERE)) == ()
    assert client.current_id("release", NOWHERE) == NOWHERE


def test_merged_ids_lead_to_the_current_ones(client: Client, index: Path) -> None:
    file = layout.open_index(index)
    rows = file.execute(
        "SELECT i.gid, r.gid FROM identifier i JOIN release r ON r.id = i.id"
        " WHERE i.kind = ? AND i.gid <> r.gid", (layout.RELEASE,),
    ).fetchall()  # fmt: skip
    file.close()
    assert len(rows) == 13
    for old, new in rows:
        current = client.current_id("release", layout.gid_text(old))
        assert current == layout.gid_text(new)
