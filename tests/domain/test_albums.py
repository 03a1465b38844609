"""Which files are one album: by folder and release id, and by Navidrome's keys."""

from pathlib import Path

import pytest

from chart_binder.domain.tags import album_key, group_by_album, navidrome_keys, split_keys
from corpus import rows

SAMPLER = {"album_artist": "Various Artists", "album": "Hits", "date": "2004"}


def fields(**texts: str) -> dict[str, tuple[str, ...]]:
    return {name: (text,) for name, text in texts.items() if text}


@pytest.mark.parametrize(("one", "other", "is_same"), rows(__file__, "albums"))
def test_files_of_one_album(
    one: tuple[str, dict[str, str]], other: tuple[str, dict[str, str]], *, is_same: bool
) -> None:
    keys = [album_key(Path(path), fields(**texts)) for path, texts in (one, other)]
    assert (keys[0] == keys[1]) is is_same
    assert len(group_by_album(keys, lambda key: key)) == (1 if is_same else 2)


# Whether Navidrome shows a track with an original date on the same album as one without, by its
# default key and by the one before 0.55.
@pytest.mark.parametrize(
    ("container", "tags", "original", "default", "legacy"),
    rows(__file__, "navidrome"),
)
def test_navidrome_keys(
    container: str, tags: dict[str, str], original: str, *, default: bool, legacy: bool
) -> None:
    keys = navidrome_keys(container, fields(**tags))
    dated = navidrome_keys(container, fields(**tags, original_date=original))
    assert (keys[0] == dated[0], keys[1] == dated[1]) == (default, legacy)


def test_only_what_was_one_album_can_be_split() -> None:
    before, other = fields(**SAMPLER), fields(**SAMPLER | {"album_artist": "Queen"})
    dated = before | fields(original_date="1975")
    in_part = [("flac", before, dated), ("flac", before, before)]
    assert split_keys(in_part, before_055=True) == {navidrome_keys("flac", before)}
    assert not split_keys(in_part, before_055=False)
    for after in (other, other), (before, dated):
        assert not split_keys([("flac", before, dated), ("flac", *after)], before_055=True)
