"""Ids on the command line are read from what people paste, and refused with what is allowed."""

from pathlib import Path

import pytest

from chart_binder.cli.options import read_mbid, read_path_or_mbid
from chart_binder.errors import UsageError

ID = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"


@pytest.mark.parametrize(
    "text",
    [
        ID,
        f" {ID.upper()} ",
        f"https://musicbrainz.org/release-group/{ID}",
        f"http://beta.musicbrainz.org/release-group/{ID}/details?page=2#x",
        f"musicbrainz.org/release-group/{ID}?x",
    ],
)
def test_an_id_is_read_bare_or_from_an_address(text: str) -> None:
    assert read_mbid(text, "release-group") == ID


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "'' is no release group id"),
        ("C1", "'C1' is no release group id"),
        (f"{ID}0", "is no release group id"),
        (f"https://musicbrainz.org/release/{ID}", "is the address of a release"),
        (f"https://example.org/release-group/{ID}", "is no release group id"),
        (f"https://musicbrainz.org.evil.example/release-group/{ID}", "is no release group id"),
    ],
)
def test_anything_else_is_refused_with_what_is_allowed(text: str, found: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_mbid(text, "release-group")
    assert found in str(caught.value)
    assert "a UUID or https://musicbrainz.org/release-group/UUID is allowed" in str(caught.value)


def test_a_file_that_exists_is_a_path_whatever_it_is_called(tmp_path: Path) -> None:
    file = tmp_path / ID
    file.touch()
    assert read_path_or_mbid(str(file)) == file
    assert read_path_or_mbid(ID) == ID
    with pytest.raises(UsageError, match="a file that exists, a decision's id, a UUID or"):
        read_path_or_mbid(str(tmp_path / "absent.flac"))
