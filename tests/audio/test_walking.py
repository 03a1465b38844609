"""Finding audio files in folders."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from audio.tagging import unprivileged
from chart_binder.audio.find import AudioFile, UnreadablePath, find_audio_files
from chart_binder.cli.options import PATH
from corpus import rows


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\0")


def names_found(*paths: Path, below: Path) -> list[str]:
    """Return the files found, relative to `below`, and the reasons for those that were not."""
    return [
        str(item.path.relative_to(below)) if isinstance(item, AudioFile) else str(item.problem)
        for item in find_audio_files(paths)
    ]


@pytest.mark.parametrize(
    ("made", "links", "walked", "expected"),
    rows(__file__, "walks"),
    ids=["sorted, at any depth", "hidden and other files are skipped", "named ones count",
         "links are followed", "links that lead nowhere are skipped", "a file is found once",
         "in several folders"],
)  # fmt: skip
def test_the_audio_files_below_the_paths_are_found(
    tmp_path: Path, made: str, links: dict[str, str], walked: str, expected: str
) -> None:
    make(tmp_path, *made.split())
    for link, target in links.items():
        (tmp_path / link).symlink_to(tmp_path / target)
    assert names_found(*map(tmp_path.joinpath, walked.split()), below=tmp_path) == expected.split()


def test_an_empty_folder_is_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make(tmp_path, "scans/cover.jpg", "deep/er/.hidden.mp3")
    assert names_found(tmp_path, tmp_path / ".", below=tmp_path) == []
    assert caplog.messages == [f"'{tmp_path}' is a folder without any audio files"]


def test_the_walk_goes_on_after_a_path_that_does_not_exist(tmp_path: Path) -> None:
    make(tmp_path, "1.mp3", "2.mp3")
    gone = tmp_path / "gone"
    first, absent, impossible, last = find_audio_files(
        [tmp_path / "1.mp3", gone, Path("a\0b"), tmp_path / "2.mp3"]
    )
    assert (first, last) == (AudioFile(tmp_path / "1.mp3"), AudioFile(tmp_path / "2.mp3"))
    assert isinstance(absent, UnreadablePath)
    assert str(absent.problem) == f"'{gone}' does not exist"
    assert isinstance(impossible, UnreadablePath)


def test_folders_that_link_to_each_other_or_upwards_are_entered_once(tmp_path: Path) -> None:
    names = [f"folder{number}" for number in range(12)]
    make(tmp_path, *(f"{name}/song.mp3" for name in names))
    for name in names:
        (tmp_path / name / "up").symlink_to(tmp_path)
        for other in names:
            (tmp_path / name / other).symlink_to(tmp_path / other)
    assert len(names_found(tmp_path, below=tmp_path)) == len(names)


def test_a_folder_deeper_than_python_recurses_is_walked(tmp_path: Path) -> None:
    folder = str(tmp_path)
    for _ in range(sys.getrecursionlimit() + 20):
        folder += "/d"
        os.mkdir(folder)  # noqa: PTH102  # pathlib makes parents by recursion
    make(Path(folder), "1.mp3")
    try:
        assert [item.path.name for item in find_audio_files([tmp_path])] == ["1.mp3"]
    finally:  # pytest removes by recursion too
        os.unlink(f"{folder}/1.mp3")  # noqa: PTH108
        while folder != str(tmp_path):
            os.rmdir(folder)  # noqa: PTH106
            folder = folder.removesuffix("/d")


def test_a_folder_is_listed_only_when_its_turn_comes(tmp_path: Path) -> None:
    make(tmp_path, "a/1.mp3", "b/2.mp3", "c/3.mp3")
    items = find_audio_files([tmp_path])
    assert next(items).path.name == "1.mp3"
    make(tmp_path, "c/4.mp3")
    (tmp_path / "b" / "2.mp3").unlink()
    (tmp_path / "b").rmdir()
    gone, *others = items
    assert isinstance(gone, UnreadablePath)
    assert str(gone.problem) == f"'{tmp_path / 'b'}' does not exist"
    assert [item.path.name for item in others] == ["3.mp3", "4.mp3"]


def test_the_walk_goes_on_after_a_folder_that_may_not_be_listed() -> None:
    with TemporaryDirectory() as name:  # pytest's own folders are closed to others at the top
        folder = Path(name)
        make(folder, "a/1.mp3", "b/2.mp3")
        folder.chmod(0o755)
        (folder / "a").chmod(0)
        try:
            with unprivileged():
                problem, item = find_audio_files([folder])
                assert PATH.convert(str(folder / "a"), None, None), "its reader says what is wrong"
        finally:
            (folder / "a").chmod(0o700)
    assert isinstance(problem, UnreadablePath)
    assert str(problem.problem) == f"'{folder / 'a'}' may not be read: permission denied"
    assert item == AudioFile(folder / "b" / "2.mp3")
