"""Finding of the audio files below the files and folders that are named on the command line."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR

from chart_binder.errors import AudioError, NoAudioError
from chart_binder.files import path_error, quoted

# What mediafile reads, by the usual file names; .mp4 and .asf are left out: mostly video.
# fmt: off
AUDIO_SUFFIXES = frozenset({
    ".aif", ".aifc", ".aiff", ".ape", ".dsf", ".flac", ".m4a", ".m4b", ".m4p", ".mp+", ".mp2",
    ".mp3", ".mpc", ".oga", ".ogg", ".opus", ".wav", ".wave", ".wma", ".wv",
})
# fmt: on


def no_audio(path: Path, problem: str) -> AudioError:
    """Return the error for a file without audio that can be read.

    It is `NoAudioError` where the name says audio; whoever names another file has made a mistake.
    """
    kind = NoAudioError if path.suffix.lower() in AUDIO_SUFFIXES else AudioError
    return kind(f"{quoted(path)} {problem}")


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
    """Yield the audio files at `paths`, in the order given, those of a folder sorted by name.

    A named file is yielded whatever its name. In folders, at any depth, only files with a suffix
    of audio are; hidden files and folders are skipped. Links are followed, but no folder is entered
    twice below one path. A path that cannot be read, or a folder without any audio, is yielded as
    `UnreadablePath`, and the walk goes on. Folders are listed one at a time, when their turn comes.
    """
    for path in paths:
        try:
            is_folder = S_ISDIR(path.stat().st_mode)
        except (OSError, ValueError) as error:
            yield UnreadablePath(path, path_error(path, error))
            continue
        if not is_folder:
            yield AudioFile(path)
            continue
        is_empty = True
        for item in _files_below(path):
            is_empty = False
            yield item
        if is_empty:
            problem = f"{quoted(path)} is a folder without any audio files"
            yield UnreadablePath(path, AudioError(problem))


def listed_audio(folder: Path) -> Sequence[Path]:
    """Return the audio files and the folders directly in a folder, none if it cannot be read."""
    try:
        return [
            item.path if isinstance(item, AudioFile) else item for item in _listed(folder, set())
        ]
    except OSError:
        return []


def _files_below(top: Path) -> Iterator[AudioFile | UnreadablePath]:
    entered: set[tuple[int, int]] = set()
    waiting: list[AudioFile | Path] = [top]  # a Path is a folder; no recursion: folders may be deep
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
        visible = [entry for entry in entries if not entry.name.startswith(".")]
    items: list[AudioFile | Path] = []
    for entry in sorted(visible, key=lambda entry: entry.name):
        path = Path(entry.path)
        if _is_folder(entry):
            items.append(path)
        elif path.suffix.lower() in AUDIO_SUFFIXES:
            items.append(AudioFile(path))
    return items


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a broken link: the reader of the file reports it
        return False
