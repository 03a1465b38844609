"""Find audio files in folders."""

import errno
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR

from chart_binder.audio.open_file import AUDIO_SUFFIXES
from chart_binder.errors import AudioError
from chart_binder.files import path_error, quoted

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AudioFile:
    """An audio file that the caller named or that was found in a folder."""

    path: Path


@dataclass(frozen=True, slots=True)
class UnreadablePath:
    """A path that cannot be read, with the reason."""

    path: Path
    problem: AudioError


def find_audio_files(
    paths: Iterable[Path], *, warn: Callable[[str], object] | None = _log.warning
) -> Iterator[AudioFile | UnreadablePath]:
    """Yield the audio files at `paths`, in their order; files in folders are sorted by name.

    A file among `paths` is yielded whatever its name. In folders, which are searched recursively,
    hidden files, files without an audio suffix and broken links are skipped, and no file is yielded
    twice, whatever links point to it. The search continues after a path that cannot be read.
    Folders are listed lazily; `warn` is called for a folder among `paths` without audio files.
    """
    paths = list(paths)
    walk = _FolderWalk(frozenset(Path(os.path.realpath(path)) for path in paths if path.is_dir()))
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
    """Return the audio files and subfolders of a folder, nothing if it cannot be read."""
    try:
        return [
            item.path if isinstance(item, AudioFile) else item
            for item in _FolderWalk().listed(folder)
        ]
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class _FolderWalk:
    """A search below `tops`, with the folders listed and the files linked to so far."""

    tops: frozenset[Path] = frozenset()
    entered: set[tuple[int, int]] = field(default_factory=set)
    linked: set[Path] = field(default_factory=set)

    def has_entered(self, folder: Path) -> bool:
        """Tell whether a folder was listed already under any name. Raises `OSError`."""
        return _identity(folder) in self.entered

    def files_below(self, top: Path) -> Iterator[AudioFile | UnreadablePath]:
        """Yield the files below a folder, folder by folder."""
        waiting: list[AudioFile | Path] = [top]  # a Path is a folder
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
        """Tell whether a link is the first way to its target, which no folder of the search has."""
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
        """Return the audio files and subfolders of a folder, nothing if it was listed already."""
        if self.has_entered(folder):
            return []
        self.entered.add(_identity(folder))
        with os.scandir(folder) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
        items: list[AudioFile | Path] = []
        for entry in sorted(visible, key=lambda entry: entry.name):
            path = Path(entry.path)
            if _is_folder(entry):
                items.append(path)
            elif path.suffix.lower() not in AUDIO_SUFFIXES:
                continue
            elif entry.is_symlink() and _is_broken(path):
                _log.info("%s is a broken link and is skipped", quoted(path))
            else:
                items.append(AudioFile(path))
        return items


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino


def _is_broken(link: Path) -> bool:
    try:
        link.stat()
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
    return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # reading the path will report the error
        return False
