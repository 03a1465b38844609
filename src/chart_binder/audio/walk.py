"""Finding of the audio files below the files and folders that are named on the command line."""

import errno
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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


def find_audio_files(
    paths: Iterable[Path], *, warn: Callable[[str], object] | None = _log.warning
) -> Iterator[AudioFile | UnreadablePath]:
    """Yield the audio files at `paths`, in the order given, those of a folder sorted by name.

    A named file is yielded whatever its name. In folders, at any depth, only files with a suffix
    of audio are; hidden files and folders are skipped. Links are followed, but below folders that
    are named no folder is entered and no file yielded twice; links that lead nowhere are skipped. A
    path that cannot be read is yielded as `UnreadablePath`, and the walk goes on. Of a folder
    without any audio `warn` is told. Folders are listed one at a time, when their turn comes.
    """
    paths = list(paths)
    walk = _Walk(frozenset(Path(os.path.realpath(path)) for path in paths if path.is_dir()))
    for path in paths:
        try:
            is_folder = S_ISDIR(path.stat().st_mode)
        except (OSError, ValueError) as error:
            yield UnreadablePath(path, path_error(path, error))
            continue
        if not is_folder:
            yield AudioFile(path)
            continue
        is_empty = not walk.has_entered(path)
        for item in walk.files_below(path):
            is_empty = False
            yield item
        if is_empty and warn:
            warn(f"{quoted(path)} is a folder without any audio files")


def listed_audio(folder: Path) -> Sequence[Path]:
    """Return the audio files and the folders directly in a folder, none if it cannot be read."""
    try:
        return [
            item.path if isinstance(item, AudioFile) else item for item in _Walk().listed(folder)
        ]
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class _Walk:
    """What was found below the folders `tops`: those entered, and what links led to."""

    tops: frozenset[Path] = frozenset()
    entered: set[tuple[int, int]] = field(default_factory=set)
    linked: set[Path] = field(default_factory=set)

    def has_entered(self, folder: Path) -> bool:
        """Return whether a folder was entered by another name. Raises `OSError`."""
        status = folder.stat()
        return (status.st_dev, status.st_ino) in self.entered

    def files_below(self, top: Path) -> Iterator[AudioFile | UnreadablePath]:
        """Yield what is found, folder by folder."""
        waiting: list[AudioFile | Path] = [top]  # a Path is a folder; folders may be deep
        while waiting:
            item = waiting.pop()
            if isinstance(item, AudioFile):
                if not item.path.is_symlink() or self._is_first(item.path):
                    yield item
                continue
            try:
                waiting += reversed(self.listed(item))
            except OSError as error:
                yield UnreadablePath(item, path_error(item, error))

    def _is_first(self, link: Path) -> bool:
        """Return whether a link is the one name by which its file is found.

        It is not if the file itself is found, or if a link led to it before.
        """
        target = Path(os.path.realpath(link))
        if target in self.linked:
            return False
        self.linked.add(target)
        if target.suffix.lower() not in AUDIO_SUFFIXES:
            return True
        return not any(
            top in self.tops
            and not any(part.startswith(".") for part in target.relative_to(top).parts)
            for top in target.parents
        )

    def listed(self, folder: Path) -> list[AudioFile | Path]:
        """Return the audio files and folders in a folder, none the second time."""
        status = folder.stat()
        identity = (status.st_dev, status.st_ino)
        if identity in self.entered:
            return []
        self.entered.add(identity)
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
