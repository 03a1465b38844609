"""What a model decided before the rules had to decide on its facts is shown, and not relied on."""

from pathlib import Path

import pytest

from golden.bundles import year_only_single
from integration.conftest import Canon, in_store
from integration.services import ALBUM, BY_CONFIDENCE, asking, file_of, final, replaying
from servers.musicbrainz import MusicBrainzStandIn

BUNDLE = year_only_single()
STALE = "the model's answer was accepted under an earlier acceptance: decide again"


@pytest.fixture
def model(home: Path) -> dict[str, str]:
    """A model that chooses the album without a fact, and is believed."""
    return replaying(home, final()) | BY_CONFIDENCE


@pytest.fixture
def stale(canon: Canon, home: Path, model: dict[str, str]) -> Path:
    """A file with a decision as an earlier version has left it in the store."""
    song = file_of(BUNDLE, home)
    canon("decide", song, knowing=[BUNDLE], **model).must_end(0, "A Night at the Opera")
    basis = "replace(CAST(document AS TEXT), '\"basis\":\"confidence\",', '')"
    in_store(home, f"UPDATE decisions SET document = CAST({basis} AS BLOB)")
    return song


def test_a_stale_decision_is_not_written_and_drift_lists_it(canon: Canon, stale: Path) -> None:
    canon("write", stale).must_end(3, STALE)
    canon("review", "show", stale).must_end(
        0, f"stale        {STALE}", "to do        the next batch decides it again"
    )
    told = canon("drift").must_end(3, "would differ: by acceptance", f"stale: {STALE}", ALBUM)
    assert "- decided" in told.out
    (line,) = canon("drift", "--output=json").lines
    assert (line["state"], line["causes"]) == ("differs", ["acceptance"])
    canon("drift", "keep", stale)
    canon("drift").must_end(0, "1 kept")
    canon("write", stale).must_end(3, STALE)


@pytest.mark.parametrize("is_model_on", [True, False])
def test_the_next_batch_decides_it_again(
    canon: Canon, stale: Path, model: dict[str, str], *, is_model_on: bool
) -> None:
    with MusicBrainzStandIn([BUNDLE]) as mb:
        settings = asking(mb) | (model if is_model_on else {})
        again = canon("batch", stale, "--output=json", **settings).line
        after = canon("batch", stale, "--output=json", **settings).line
    # The model is the same that answered before: nothing but the acceptance differs.
    state = "decided" if is_model_on else "indeterminate"
    assert (again["state"], "resumed" in again) == (state, False)
    assert (after["state"], after["resumed"]) == (state, True)
    canon("drift").must_end(0, "1 unchanged")


def test_a_pinned_one_stands_as_stale_and_is_not_written(canon: Canon, stale: Path) -> None:
    canon("drift", "pin", stale)
    with MusicBrainzStandIn([BUNDLE]) as mb:
        canon("decide", stale, **asking(mb)).must_end(3, "Opera (Album) is kept", f"stale {STALE}")
        ran = canon("batch", stale, "--write", "--output=json", **asking(mb))
    assert (ran.status, ran.line["pinned"], ran.line["tags"]["why"]) == (3, True, STALE)


def test_a_person_may_accept_it_all_the_same(canon: Canon, stale: Path) -> None:
    canon("review", "accept", stale, "--reason", "I have the record").must_end(0, "accepted")
    line = canon("batch", stale, "--output=json", knowing=[BUNDLE]).line
    assert (line["state"], line["decided_by"]) == ("decided", "override")
    canon("write", stale, "--policy=note", "-v").must_end(0, ALBUM)
