"""Albums are found: files that are looked up together, each once."""

from pathlib import Path

import pytest

from chart_binder.audio.find import UnreadablePath
from chart_binder.jobs.batch import MAX_ALBUM_FILES, Album, find_albums

LARGE = " ".join(f"{number:03}.mp3" for number in range(2 * MAX_ALBUM_FILES + 1))


def numbered(folder: str, *numbers: int) -> str:
    return " ".join(f"artist/{folder}/{number:02}.mp3" for number in range(*numbers))


SMALL = " ".join(numbered(folder, 12) for folder in "abc")


@pytest.mark.parametrize(
    ("made", "named", "sizes"),
    [
        ("a/x/1.flac a/x/2.flac b/y/3.flac b/y/cover.jpg .git/x.mp3", ".", [2, 1]),
        (SMALL, ".", [24, 12]),
        (f"{SMALL} {numbered('b', 12, 20)}", ".", [12, 20, 12]),
        ("1.flac 2.flac", "1.flac 2.flac", [2]),
        (LARGE, ".", [MAX_ALBUM_FILES, MAX_ALBUM_FILES, 1]),
        ("a/1.flac a/b/2.flac ab/3.flac", "a/b a a a/1.flac ab", [1, 1, 1]),
    ],
    ids=["folders", "small ones side by side", "one of them larger", "named files", "a large one",
         "what lies inside another comes once"],
)  # fmt: skip
def test_albums_are_files_of_a_folder_or_of_small_ones_side_by_side(
    tmp_path: Path, made: str, named: str, sizes: list[int]
) -> None:
    for name in made.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    found = list(find_albums([tmp_path / name for name in named.split()]))
    albums = [item.paths for item in found if isinstance(item, Album)]
    assert [len(paths) for paths in albums] == sizes
    assert len({path for paths in albums for path in paths}) == sum(sizes)


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    (found,) = find_albums([tmp_path / "no.flac"])
    assert isinstance(found, UnreadablePath)
