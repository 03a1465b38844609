"""Golden cases that are open for want of the original, in worlds with the original and without.

A line of `golden_worlds.jsonl` has the `id` of the case, further recordings of the `original` and
`others` that are other performances, the group that is right (`crg`), and those groups of the case
that are by various artists, which its bundle does not say (`various`). `known` says what of it is
fact; ids that begin with zeros are invented, as what `known` does not name may be.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.tags import TrackTags
from chart_binder.jobs.decision import Case, State
from musicbrainz.albums import VARIOUS
from musicbrainz.harness import Harness, StoreInMemory
from musicbrainz.sibling_worlds import decided, siblings_in
from servers.musicbrainz import MusicBrainzStandIn

LINES = Path(__file__).with_name("golden_worlds.jsonl").read_bytes().splitlines()
WORLDS: list[dict[str, Any]] = [msgspec.json.decode(line) for line in LINES]
each_world = pytest.mark.parametrize("world", WORLDS, ids=[one["id"] for one in WORLDS])


def credited(bundle: EvidenceBundle, various: Iterable[str]) -> EvidenceBundle:
    """Return a bundle with the credits of records by various artists."""
    (recording,) = bundle.recording_candidates
    groups = [
        replace(
            group,
            artist_credit=VARIOUS,
            releases=tuple(replace(one, artist_credit=VARIOUS) for one in group.editions),
        )
        if group.mb_rg_id in various
        else group
        for group in recording.groups
    ]
    return replace(bundle, recording_candidates=(replace(recording, rg_candidates=tuple(groups)),))


def decided_in(world: dict[str, Any], bundle: EvidenceBundle, *others: Any) -> Case:
    """Decide the recording of a golden bundle, where MusicBrainz has others, too."""
    (recording,) = bundle.recording_candidates
    with MusicBrainzStandIn([*others, credited(bundle, world["various"])]) as server:
        source = Harness(StoreInMemory(), server).source()
        tags = TrackTags(recording_mbid=recording.mb_recording_id)
        source.gather(tags)
        before = source.requests
        case = decided(source, tags)
        assert source.requests - before <= 3
    return case


@each_world
def test_with_the_original_the_case_closes_for_its_group(
    world: dict[str, Any], golden: dict[str, EvidenceBundle]
) -> None:
    case = decided_in(world, golden[world["id"]], *world["original"], *world["others"])
    assert (case.decision.state, case.decision.crg_mbid) == (State.DECIDED, world["crg"])
    (original,) = (one["recording_candidates"][0] for one in world["original"])
    assert [*siblings_in(case)] == [original["mb_recording_id"]]
    assert case.decision.recording_mbid == original["mb_recording_id"]
    first = case.decision.first_release
    assert first
    date = original["first_release_date"]
    if first.date == date:
        assert first.via_sibling
    else:
        assert (first.date, first.release_group_mbid) == (date[:4], None)


@each_world
def test_without_the_original_the_case_stays_open(
    world: dict[str, Any], golden: dict[str, EvidenceBundle]
) -> None:
    case = decided_in(world, golden[world["id"]], *world["others"])
    assert case.decision.state is State.UNDECIDED
    assert [*siblings_in(case)] == []
    assert case.bundle
    assert case.bundle.siblings == "looked_up"
