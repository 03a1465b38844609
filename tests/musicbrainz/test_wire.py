"""MusicBrainz' XML is read whole: what musicbrainzngs drops, odd credits, long lists."""

import pytest
from msgspec.structs import replace

from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.musicbrainz.web_service import parse_response
from musicbrainz.harness import Harness
from servers.http import Request, Response
from servers.musicbrainz import MusicBrainzStandIn

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


def test_the_first_release_date_of_a_recording_is_kept() -> None:
    recording = parse_response(RECORDING.encode(), "recording").recording
    assert recording is not None
    assert recording.first_release_date == "1981-10-26"
    assert recording.length_ms == 248_000


def test_several_credits_are_joined_and_the_first_one_tells_the_origin(
    harness: Harness, queen: EvidenceBundle
) -> None:
    def behave(_: int, request: Request, honest: Response) -> Response:
        if request.path.startswith("/ws/2/recording/"):
            return Response(RECORDING, content_type="application/xml")
        return honest

    harness.server.behave = behave
    tags = TrackTags(recording_mbid=queen.recording_candidates[0].mb_recording_id)
    gathered = harness.source().gather(tags)
    assert gathered.performer.name == "Queen & Bowie"
    assert gathered.performer.mb_artist_id == queen.performer.mb_artist_id
    assert gathered.performer.begin_area_country == "GB"


@pytest.mark.parametrize("count", [99, 100, 101, 250])
def test_all_releases_are_read_page_by_page(
    harness: Harness, queen: EvidenceBundle, count: int
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
    tags = TrackTags(recording_mbid=recording.mb_recording_id)
    (gathered,) = harness.gather([many], tags).recording_candidates
    assert [len(group.editions) for group in gathered.groups] == [count - 7, 7]
    pages = [
        request.query for request in harness.server.requests if request.path == "/ws/2/release"
    ]
    assert [page.get("offset", "0") for page in pages] == [str(n) for n in range(0, count, 100)]
    assert {page["limit"] for page in pages} == {"100"}


def test_a_server_that_gives_smaller_pages_is_read_to_the_end(
    harness: Harness, golden: dict[str, EvidenceBundle]
) -> None:
    bundle = golden["pf-time"]
    server = MusicBrainzStandIn([bundle])

    def behave(_: int, request: Request, honest: Response) -> Response:
        if request.path != "/ws/2/release" or request.query["limit"] != "100":
            return honest
        return server._honest(replace_query(request, limit="10"))

    server.behave = behave
    with server:
        tags = TrackTags(recording_mbid=bundle.recording_candidates[0].mb_recording_id)
        gathered = harness.source(server.hostname).gather(tags)
    (group,) = gathered.recording_candidates[0].groups
    assert len(group.editions) == 25
    assert sum(request.path == "/ws/2/release" for request in server.requests) == 3


def replace_query(request: Request, **changes: str) -> Request:
    query = request.query | changes
    return Request("GET", request.path, query, request.headers, b"", request.target)


def test_a_title_that_reads_null_is_text(harness: Harness, queen: EvidenceBundle) -> None:
    (recording,) = queen.recording_candidates
    odd = replace(recording, mb_recording_id=RecordingId("0" * 8 + "-0000-4000-8000-" + "0" * 12))
    odd = replace(odd, title="null", disambiguation="true", rg_candidates=())
    tags = TrackTags(recording_mbid=odd.mb_recording_id)
    (gathered,) = harness.gather(
        [replace(queen, recording_candidates=(odd,))], tags
    ).recording_candidates
    assert (gathered.title, gathered.disambiguation) == ("null", "true")
