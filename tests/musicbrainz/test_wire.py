"""MusicBrainz' XML is read whole: what musicbrainzngs drops, odd credits, long lists."""

import pytest
from msgspec.structs import replace

from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId
from musicbrainz.harness import Harness, edited

# Written by hand after the schema, with what real answers have beside it.
RECORDING = """<?xml version="1.0" encoding="UTF-8"?>
<metadata xmlns="http://musicbrainz.org/ns/mmd-2.0#">
 <recording id="32c7e292-14f1-4080-bddf-ef852e0a4c59">
  <title>Under Pressure</title><length>248000</length>
  <first-release-date>1981-10-26</first-release-date>
  <artist-credit>
   <name-credit joinphrase=" &amp; "><artist id="0383dadf-2a4e-4d10-a46a-e9e041da8eb3" type="Group"
     type-id="e431f5f6-b5d2-343d-8b36-72607fffb74b"><name>Queen</name><sort-name>Queen</sort-name>
     <disambiguation>UK rock group</disambiguation></artist></name-credit>
   <name-credit><name>Bowie</name><artist id="5441c29d-3602-4898-b1a1-b77fa23b8e50">
     <name>David Bowie</name><sort-name>Bowie, David</sort-name></artist></name-credit>
  </artist-credit>
  <isrc-list count="1"><isrc id="GBCEE8100103"/></isrc-list>
 </recording>
</metadata>"""


def test_several_credits_are_joined_and_the_first_one_tells_the_origin(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags
) -> None:
    harness.server.behave = edited(lambda _: RECORDING.encode(), only="/ws/2/recording/")
    gathered = harness.source().gather(tags)
    (recording,) = gathered.recording_candidates
    assert (recording.first_release_date, recording.length_ms) == ("1981-10-26", 248_000)
    assert gathered.performer.name == "Queen & Bowie"
    assert gathered.performer.mb_artist_id == queen.performer.mb_artist_id
    assert gathered.performer.begin_area_country == "GB"


@pytest.mark.parametrize("count", [100, 250])
def test_all_releases_are_read_page_by_page(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags, count: int
) -> None:
    groups = tuple(
        ReleaseGroup(
            ReleaseGroupId(f"group {g}"),
            title=f"{g}",
            releases=tuple(Release(ReleaseId(f"{g} {r}"), title=f"{r}") for r in range(size)),
        )
        for g, size in enumerate((count - 7, 7))
    )
    (recording,) = queen.recording_candidates
    many = replace(queen, recording_candidates=(replace(recording, rg_candidates=groups),))
    (gathered,) = harness.gather([many], tags).recording_candidates
    assert [len(group.editions) for group in gathered.groups] == [count - 7, 7]
    pages = [each.query for each in harness.server.requests if each.path == "/ws/2/release"]
    assert [page.get("offset", "0") for page in pages] == [str(n) for n in range(0, count, 100)]
    assert {page["limit"] for page in pages} == {"100"}


def test_a_title_that_reads_null_is_text(harness: Harness, queen: EvidenceBundle) -> None:
    (recording,) = queen.recording_candidates
    odd = replace(recording, mb_recording_id=RecordingId("0" * 8 + "-0000-4000-8000-" + "0" * 12))
    odd = replace(odd, title="null", disambiguation="true", rg_candidates=())
    tags = TrackTags(recording_mbid=odd.mb_recording_id)
    served = replace(queen, recording_candidates=(odd,))
    (gathered,) = harness.gather([served], tags).recording_candidates
    assert (gathered.title, gathered.disambiguation) == ("null", "true")
