"""Which recordings a record adds to the evidence, and why not, over a world of one song."""

from pathlib import Path

import pytest

from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import LookupFailedError, NothingFoundError
from chart_binder.musicbrainz.sibling_lookup import bring_in
from musicbrainz.harness import Harness
from rules.making import cases
from servers.musicbrainz import MusicBrainzStandIn
from servers.musicbrainz_world import evidence, id_of, world

RECORDS = Path(__file__).with_name("records.txt")
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


@pytest.mark.parametrize(("known", "kind", "named", "added", "why"), cases(RECORDS, is_named=False))
def test_a_record_adds_its_recordings_of_the_same_performance_with_all_their_releases(
    harness: Harness, known: str, kind: str, named: str, added: str, why: str
) -> None:
    bundle = read_bundle(evidence(WORLD, known))
    with MusicBrainzStandIn(world(WORLD)) as harness.server:
        client = harness.source().client()
        if added == "-":
            with pytest.raises(NothingFoundError) as raised:
                bring_in(client, bundle, kind, id_of(named))
            assert why in str(raised.value)
            return
        (found,) = bring_in(client, bundle, kind, id_of(named))
    (of_world,) = read_bundle(evidence(WORLD, added)).recording_candidates
    assert (found.mb_recording_id, found.relation) == (id_of(added), "sibling")
    assert why in (found.because or "")
    assert {group.mb_rg_id for group in found.groups} == {
        group.mb_rg_id for group in of_world.groups
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
