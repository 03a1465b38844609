"""Addresses at Wikidata and Wikipedia that MusicBrainz links a release group to."""

import pytest

from chart_binder.domain.evidence import EvidenceBundle, Link
from chart_binder.errors import LookupFailedError
from musicbrainz.harness import Harness
from servers.musicbrainz import BUSY, always

ITEM = "https://www.wikidata.org/wiki/Q209522"
ARTICLE = "https://de.wikipedia.org/wiki/A_Night_at_the_Opera"


def test_addresses_of_two_groups_take_two_requests(harness: Harness, queen: EvidenceBundle) -> None:
    groups = [group.mb_rg_id for group in queen.recording_candidates[0].groups]
    assert len(groups) > 2
    harness.server.urls = {
        groups[0]: [f"wikidata {ITEM}", "discogs https://www.discogs.com/master/5780"],
        groups[1]: [f"wikipedia {ARTICLE}", "wikidata https://www.wikidata.org/wiki/Q1 ended"],
        groups[2]: [f"wikidata {ITEM}"],
    }
    expected = (Link(groups[0], ITEM), Link(groups[1], ARTICLE))
    source = harness.source()
    assert source.client().links_of(groups) == expected
    assert source.requests == 2
    assert {request.query["inc"] for request in harness.server.requests} == {"url-rels"}
    assert source.client().links_of([groups[0], *groups]) == expected
    assert source.requests == 2
    assert harness.source(offline=True).client().links_of(groups) == expected


def test_a_group_that_is_gone_has_no_link(harness: Harness, queen: EvidenceBundle) -> None:
    group = queen.recording_candidates[0].groups[0].mb_rg_id
    gone = type(group)("0" * 8 + "-0000-4000-8000-" + "0" * 12)
    assert harness.source().client().links_of([group, gone]) == ()


def test_a_failed_look_up_is_no_absence(harness: Harness, queen: EvidenceBundle) -> None:
    harness.server.behave = always(BUSY)
    group = queen.recording_candidates[0].groups[0].mb_rg_id
    with pytest.raises(LookupFailedError, match="503"):
        harness.source().client().links_of([group])
    with pytest.raises(LookupFailedError, match="offline"):
        harness.source(offline=True).client().links_of([group])
