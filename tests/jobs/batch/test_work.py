"""Albums are found: files that are looked up together, each once."""

from pathlib import Path

from chart_binder.audio.file_access import UnreadablePath
from chart_binder.jobs.batch import MAX_ALBUM_FILES, Album, find_albums


def tree(top: Path, *names: str) -> None:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(b"")


def folders(*named: Path) -> list[list[str]]:
    found = list(find_albums(named))
    return [[path.name for path in item.paths] for item in found if isinstance(item, Album)]


def test_files_of_one_folder_are_an_album(tmp_path: Path) -> None:
    tree(tmp_path, "a/x/1.flac", "a/x/2.flac", "b/y/3.flac", "b/y/cover.jpg", ".git/x.mp3")
    assert folders(tmp_path) == [["1.flac", "2.flac"], ["3.flac"]]


def test_small_folders_side_by_side_are_looked_up_together(tmp_path: Path) -> None:
    tree(tmp_path, *(f"artist/{one}/{number:02}.mp3" for one in "abc" for number in range(12)))
    assert [len(names) for names in folders(tmp_path)] == [24, 12]
    tree(tmp_path, *(f"artist/b/{number:02}.mp3" for number in range(12, 20)))
    assert [len(names) for names in folders(tmp_path)] == [12, 20, 12]


def test_named_files_of_one_folder_are_an_album_and_what_is_missing_is_told(tmp_path: Path) -> None:
    tree(tmp_path, "1.flac", "2.flac")
    one, other = tmp_path / "1.flac", tmp_path / "2.flac"
    found = list(find_albums([one, other, tmp_path / "no.flac", tmp_path / "empty"]))
    assert found[0] == Album((one, other))
    # What is named counts, and is read: whether it is there is told then.
    assert any(isinstance(item, UnreadablePath) for item in found[1:])


def test_a_large_folder_is_several_albums(tmp_path: Path) -> None:
    tree(tmp_path, *(f"{number:03}.mp3" for number in range(2 * MAX_ALBUM_FILES + 1)))
    assert [len(names) for names in folders(tmp_path)] == [MAX_ALBUM_FILES, MAX_ALBUM_FILES, 1]


def test_what_lies_inside_another_folder_that_was_named_comes_once(tmp_path: Path) -> None:
    tree(tmp_path, "a/1.flac", "a/b/2.flac", "ab/3.flac")
    named = [tmp_path / "a" / "b", tmp_path / "a", tmp_path / "a", tmp_path / "a" / "1.flac"]
    found = folders(*named, tmp_path / "ab")
    assert [name for album in found for name in album] == ["1.flac", "2.flac", "3.flac"]
