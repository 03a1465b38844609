from pathlib import Path

import pytest

from chart_binder.audio.reading import require_identity
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import UnidentifiedError

SONG = Path("song.mp3")

ENOUGH = [
    TrackTags(recording_mbid="b1a9c0e9-d987-4042-ae91-78d6a3267d69"),
    TrackTags(isrcs=("GBUM71029604",)),
    TrackTags(artist="Queen", title="Bohemian Rhapsody"),
]


@pytest.mark.parametrize("tags", ENOUGH)
def test_a_recording_id_an_isrc_or_artist_and_title_identify_a_file(tags: TrackTags) -> None:
    require_identity(tags, SONG)


TOO_LITTLE = [
    (TrackTags(), "no artist and no title"),
    (TrackTags(artist="Queen"), "no title"),
    (TrackTags(title="Bohemian Rhapsody"), "no artist"),
    (TrackTags(album="Queen", album_artist="Queen", artist=""), "no artist and no title"),
]


@pytest.mark.parametrize(("tags", "missing"), TOO_LITTLE)
def test_what_is_missing_is_named(tags: TrackTags, missing: str) -> None:
    with pytest.raises(UnidentifiedError) as caught:
        require_identity(tags, SONG)
    assert str(caught.value) == (
        "'song.mp3' says too little to be looked up: its tags have no MusicBrainz recording id,"
        f" no ISRC and {missing}"
    )
