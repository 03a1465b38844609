"""Which recordings a record adds to the evidence, and why not, over a world of one song."""

import pytest

from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import LookupFailedError, NothingFoundError
from chart_binder.musicbrainz.sibling_lookup import bring_in
from musicbrainz.harness import Harness
from servers.musicbrainz import MusicBrainzStandIn
from servers.musicbrainz_world import evidence, id_of, world

WORLD = """
Trams | Album | Night Opera | 1975-11-21 GB, 1977 US | tram Night Tram 5:55; day Day Tram 3:00
Trams | Single | Night Tram | 1975-10-31 GB | tram Night Tram 5:55
Trams | Album+Compilation | Best Trams | 2004 GB | again Night Tram [2004 remaster] 5:53
Trams | Album+Live | Trams Live | 1979-06-22 GB | live Night Tram (live) 5:55
Trams | Album | Night Again | 1989 GB | anew Night Tram [re-recording] 5:54
Trams | EP | Trams Remixed | 1999 GB | mix Night Tram (club mix) 5:54; edit Night Tram [edit] 3:10
Buses | Single | Night Tram by Buses | 1980 GB | cover Night Tram 5:55
Trams | Album | Day Opera | 1973 GB | day Day Tram 3:00
Trams | Album+Compilation | Coded | 2011 GB | coded Night Tram 6:30 GBAAA7500001
Trams | Single | Coded Single | 1975-10-01 GB | code Night Tram 5:00 GBAAA7500001
"""
CASES = [
    # The recordings of the evidence, what is named, and what it adds, or why nothing.
    ("again", "release-group", "Night Opera", {"tram": "2.0 s"}),
    ("again", "release-group", "Night Tram", {"tram": "2.0 s"}),
    ("again", "recording", "tram", {"tram": "2.0 s"}),
    ("coded", "recording", "code", {"code": "the same ISRC GBAAA7500001"}),
    ("again", "release-group", "Day Opera", "no track of 'Day Opera' is the same performance"),
    ("again", "release-group", "Trams Live", "no track of 'Trams Live' is the same performance"),
    ("again", "release-group", "Night Again", "no track of 'Night Again' is"),
    ("again", "release-group", "Trams Remixed", "is the same performance: another artist, title"),
    ("again", "release-group", "Night Tram by Buses", "of 'Night Tram by Buses' is the same"),
    ("again", "recording", "cover", "'Night Tram' by Buses, 5:55, is not the same"),
    ("again", "recording", "day", "'Day Tram' by Trams, 3:00, is not the same"),
    ("again", "release-group", "Best Trams", "the evidence has the recording already"),
    ("again", "recording", "again", "the evidence has the recording"),
    ("again", "recording", "Night Opera", "MusicBrainz knows no recording with the id"),
    ("again", "release-group", "tram", "MusicBrainz knows no release group with the id"),
]


@pytest.mark.parametrize(("known", "kind", "named", "added"), CASES)
def test_a_record_adds_its_recordings_of_the_same_performance_with_all_their_releases(
    harness: Harness, known: str, kind: str, named: str, added: dict[str, str] | str
) -> None:
    bundle = read_bundle(evidence(WORLD, known))
    with MusicBrainzStandIn(world(WORLD)) as harness.server:
        client = harness.source().client()
        if isinstance(added, str):
            with pytest.raises(NothingFoundError) as raised:
                bring_in(client, bundle, kind, id_of(named))
            assert added in str(raised.value)
            return
        found = bring_in(client, bundle, kind, id_of(named))
        assert [one.mb_recording_id for one in found] == [*map(id_of, added)]
        for one, because in zip(found, added.values(), strict=True):
            assert one.relation == "sibling"
            assert because in (one.because or "")
            known_as = read_bundle(evidence(WORLD, next(iter(added)))).recording_candidates[0]
            assert {each.mb_rg_id for each in one.groups} == {
                each.mb_rg_id for each in known_as.groups
            }


def test_a_recording_on_no_release_adds_nothing(harness: Harness) -> None:
    bundle = read_bundle(evidence(WORLD, "again"))
    bare = evidence(WORLD, "tram")
    bare["recording_candidates"][0]["rg_candidates"] = []
    with (
        MusicBrainzStandIn([bare]) as harness.server,
        pytest.raises(NothingFoundError, match="'Night Tram' by Trams, 5:55, is on no release"),
    ):
        bring_in(harness.source().client(), bundle, "recording", id_of("tram"))


def test_of_a_group_that_is_not_read_to_its_end_nothing_is_said(harness: Harness) -> None:
    releases = ", ".join(f"19{number} GB" for number in range(70, 78))
    table = f"{WORLD}Trams | Album | Long | {releases} | other Other 1:00\n"
    bundle = read_bundle(evidence(WORLD, "again"))
    with MusicBrainzStandIn(world(table)) as harness.server:
        harness.server.most_tracks = 2
        with pytest.raises(LookupFailedError, match="of 8 releases of 'Long', 6 were read"):
            bring_in(harness.source().client(), bundle, "release-group", id_of("Long"))
