"""Finding of the audio files below the files and folders that are named on the command line."""

import errno
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR

from chart_binder.errors import AudioError, NoAudioError
from chart_binder.files import path_error, quoted

_log = logging.getLogger(__name__)

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
    of audio are; hidden files and folders are skipped. Links are followed, but below one path no
    folder is entered and no file yielded twice; links that lead nowhere are skipped. A path that
    cannot be read, or a folder without any audio, is yielded as `UnreadablePath`, and the walk goes
    on. Folders are listed one at a time, when their turn comes.
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
    linked: set[Path] = set()
    real_top = Path(os.path.realpath(top))
    waiting: list[AudioFile | Path] = [top]  # a Path is a folder; no recursion: folders may be deep
    while waiting:
        item = waiting.pop()
        if isinstance(item, AudioFile):
            if not item.path.is_symlink() or _is_first(item.path, real_top, linked):
                yield item
            continue
        try:
            waiting += reversed(_listed(item, entered))
        except OSError as error:
            yield UnreadablePath(item, path_error(item, error))


def _is_first(link: Path, top: Path, linked: set[Path]) -> bool:
    """Return whether a link is the one name by which its file is found below the folder `top`.

    It is not if the file itself is below it; `linked` are files that links led to so far.
    """
    target = Path(os.path.realpath(link))
    if target in linked:
        return False
    linked.add(target)
    if not target.is_relative_to(top) or target.suffix.lower() not in AUDIO_SUFFIXES:
        return True
    return any(part.startswith(".") for part in target.relative_to(top).parts)


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
        elif path.suffix.lower() not in AUDIO_SUFFIXES:
            continue
        elif entry.is_symlink() and _leads_nowhere(path):
            _log.info("%s is a link that leads nowhere, and is skipped", quoted(path))
        else:
            items.append(AudioFile(path))
    return items


def _leads_nowhere(link: Path) -> bool:
    try:
        link.stat()
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
    return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # the reader of the file reports it
        return False
