"""The audio files that files and folders on the command line stand for."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR

from chart_binder.errors import AudioError
from chart_binder.files import path_error, quoted

# What mediafile reads, by the names such files have; .mp4 and .asf are left out: mostly video.
# fmt: off
AUDIO_SUFFIXES = frozenset({
    ".aif", ".aifc", ".aiff", ".ape", ".dsf", ".flac", ".m4a", ".m4b", ".m4p", ".mp+", ".mp2",
    ".mp3", ".mpc", ".oga", ".ogg", ".opus", ".wav", ".wave", ".wma", ".wv",
})
# fmt: on


@dataclass(frozen=True, slots=True)
class AudioFile:
    """A file to read, named by the caller or found in a folder."""

    path: Path


@dataclass(frozen=True, slots=True)
class UnreadablePath:
    """A path that yields no file, with the reason."""

    path: Path
    problem: AudioError


def find_audio_files(paths: Iterable[Path]) -> Iterator[AudioFile | UnreadablePath]:
    """Yield the files that `paths` stand for, in the order given, folders in the order of names.

    A named file is yielded whatever its name. In folders, at any depth, only names of audio count;
    hidden files and folders are passed over. Links are followed, yet no folder is entered twice
    below one path. What cannot be reached, or a folder without any audio, is an `Unreadable`, after
    which the walk goes on. One folder is listed at a time: the first file comes at once.
    """
    for path in paths:
        yield from _files_at(path)


def _files_at(path: Path) -> Iterator[AudioFile | UnreadablePath]:
    try:
        is_folder = S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError) as error:
        yield UnreadablePath(path, path_error(path, error))
        return
    if not is_folder:
        yield AudioFile(path)
        return
    nothing = True
    for item in _files_below(path):
        nothing = False
        yield item
    if nothing:
        yield UnreadablePath(
            path, AudioError(f"{quoted(path)} is a folder without any audio files")
        )


def _files_below(top: Path) -> Iterator[AudioFile | UnreadablePath]:
    entered: set[tuple[int, int]] = set()
    waiting: list[AudioFile | Path] = [top]  # a path is a folder; a stack: they may be deep
    while waiting:
        item = waiting.pop()
        if isinstance(item, AudioFile):
            yield item
            continue
        try:
            waiting += reversed(_listed(item, entered))
        except OSError as error:
            yield UnreadablePath(item, path_error(item, error))


def _listed(folder: Path, entered: set[tuple[int, int]]) -> list[AudioFile | Path]:
    status = folder.stat()
    identity = (status.st_dev, status.st_ino)
    if identity in entered:
        return []
    entered.add(identity)
    with os.scandir(folder) as entries:
        visible = sorted(
            (entry for entry in entries if not entry.name.startswith(".")),
            key=lambda entry: entry.name,
        )
    return [item for entry in visible if (item := _counted(entry))]


def _counted(entry: os.DirEntry[str]) -> AudioFile | Path | None:
    if _is_folder(entry):
        return Path(entry.path)
    path = Path(entry.path)
    return AudioFile(path) if path.suffix.lower() in AUDIO_SUFFIXES else None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads nowhere: reading it as a file will say why
        return False
