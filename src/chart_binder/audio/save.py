"""Saving changed tags: write a copy beside the file, verify it, and replace the file with it.

At any moment, even if the process is killed or the disk is full, the file has either its old bytes
or its complete new ones. A `Restoration` turns the new file back into the old one.
"""

import errno
import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from stat import S_IMODE, S_ISGID, S_IWGRP, S_IWOTH, S_IWUSR
from typing import Annotated

import msgspec

from chart_binder.audio import locks, open_file
from chart_binder.audio.containers import audio_hash, file_with_tags, hash_if_same, layout_of
from chart_binder.audio.containers.vorbis import RenumberedPages
from chart_binder.audio.open_file import ByteSpan, OpenFile, Piece, UnwrittenFile
from chart_binder.audio.read_back import require_read_back
from chart_binder.audio.tagset import TagSet
from chart_binder.errors import AudioError, SaveError
from chart_binder.files import quoted

_SPARE_BYTES = 1 << 20  # must stay free on the disk beside a copy

_IDENTITY = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSALS = {
    errno.EPERM: "the system forbids replacing it (it is immutable, or belongs to another user)",
    errno.EROFS: "it is on a read-only disk",
    errno.EACCES: "its folder is not writable, and a copy has to be made there first",
}
# The end of a chunk depends only on its bytes, so equal content gives equal chunks anywhere.
_CHUNK = re.compile(rb"(?s).{256,4096}?(?=[\0-\3])|.{1,4096}")
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})
# The errors of file systems without extended attributes, or without this attribute.
_NO_ATTRIBUTE = frozenset({errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENODATA})


class NotWritableError(SaveError):
    """The file must not be replaced; `why` is the reason, which somebody has to resolve."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{quoted(path)} was not changed: {why}")
        self.why = why


class ChangedSinceError(SaveError):
    """The file is no longer byte for byte the one that was written."""


class UnconfirmedError(SaveError):
    """The file was replaced, but the disk did not confirm that the change is permanent."""


_RestorationPart = bytes | Annotated[tuple[int, ...], msgspec.Meta(min_length=2, max_length=4)]


class Restoration(msgspec.Struct, frozen=True, array_like=True):
    """How to rebuild the file before a write from the file after it.

    The hashes are the SHA-256 of the whole files. Each of `parts`, in file order, is either bytes
    that only the old file has, or start and size of a span in the new file. Spans of renumbered Ogg
    pages also have the stream's serial number and the number to add to their page numbers.
    """

    old_hash: bytes
    new_hash: bytes
    parts: tuple[_RestorationPart, ...]

    @property
    def document(self) -> bytes:
        """The compressed value, which `from_document` reads without loss."""
        return zlib.compress(msgspec.msgpack.encode(self))

    @classmethod
    def from_document(cls, document: bytes) -> "Restoration":
        """Read the value of `document`. Raises `AudioError` for anything else."""
        try:
            return msgspec.msgpack.decode(zlib.decompress(document), type=cls)
        except (zlib.error, msgspec.MsgspecError) as error:
            raise AudioError(f"the journal cannot restore the old file: {error}") from error

    @property
    def pieces(self) -> list[Piece]:
        """The old file as bytes and spans of the new one."""
        return [part if isinstance(part, bytes) else _span(*part) for part in self.parts]


def _span(start: int, size: int, serial: int | None = None, shift: int = 0) -> ByteSpan:
    if serial is None:
        return ByteSpan(start, size)
    return RenumberedPages(start, size, serial, shift, (start,))


@dataclass(frozen=True, slots=True)
class PreparedCopy:
    """A verified copy that will replace `path`; `restoration` rebuilds the old file from it."""

    path: Path
    temporary: Path
    audio_hash: str
    before: TagSet
    after: TagSet
    restoration: Restoration


@dataclass(frozen=True, slots=True)
class SaveResult:
    """The outcome of a save; `lost` names attributes and times that could not be preserved."""

    path: Path
    changed: bool
    before: TagSet
    after: TagSet
    audio_hash: str | None = None
    lost: tuple[str, ...] = ()


def do_nothing(_: PreparedCopy) -> None:
    """Do nothing before a file is replaced (the default of `before_replace`)."""


def check_tags(
    path: Path,
    change: Callable[[TagSet], TagSet],
    *,
    copy_links: bool = False,
    is_undo: bool = False,
) -> tuple[TagSet, TagSet]:
    """Return the tags of a file before and after a change, without writing.

    Makes all checks that `save_tags` makes before it creates a copy, and raises the same errors.
    """
    target = _resolved(path) if path.is_symlink() else path
    with open_file.open_audio(target) as source:
        planned = _plan_save(path, source, change, copy_links=copy_links, is_undo=is_undo)
    return planned.before, planned.after


def check_restore(
    path: Path, restorations: Sequence[Restoration], *, copy_links: bool = False
) -> None:
    """Raise the errors of `restore_file` for successive restorations, without writing."""
    with open_file.open_audio(_resolved(path)) as source:
        current_hash = file_hash(source)
        for restoration in restorations:
            if current_hash != restoration.new_hash:
                raise _changed_since(path)
            current_hash = restoration.old_hash
        new_size = sum(map(open_file.piece_size, restorations[-1].pieces))
        _require_writable(path, source, new_size, copy_links=copy_links)


def save_tags(
    path: Path,
    change: Callable[[TagSet], TagSet],
    *,
    keep_mtime: bool = False,
    copy_links: bool = False,
    is_undo: bool = False,
    timeout_s: float = locks.LOCK_TIMEOUT_S,
    before_replace: Callable[[PreparedCopy], None] = do_nothing,
) -> SaveResult:
    """Replace the tags of a file with the result of `change`, which receives the current tags.

    Owner, mode, extended attributes and access lists are preserved, and with `keep_mtime` also the
    modification times of the file and its folder. `copy_links` allows replacing a file with several
    hard links under this name only. `before_replace` is called when the copy is on disk and has the
    same audio and the new tags, which mutagen must read as well unless `is_undo`; if it raises, the
    file stays unchanged. If another run has locked the file, it is awaited for `timeout_s` seconds.

    Raises `AudioError` for a file that cannot be read or values that its tags cannot hold,
    `FileInUseError` after the timeout, and `SaveError` if the file must not or cannot be replaced.
    After an error the file is unchanged, except after `UnconfirmedError`.
    """
    plan = partial(_plan_save, path, change=change, copy_links=copy_links, is_undo=is_undo)
    return _replace_file(path, plan, before_replace, keep_mtime=keep_mtime, timeout_s=timeout_s)


def restore_file(
    path: Path,
    restoration: Restoration,
    *,
    keep_mtime: bool = False,
    copy_links: bool = False,
    before_replace: Callable[[PreparedCopy], None] = do_nothing,
) -> SaveResult:
    """Replace a written file with the old one. Raises `ChangedSinceError` if it changed since."""

    def plan(source: OpenFile) -> _PlannedSave:
        if file_hash(source) != restoration.new_hash:
            raise _changed_since(path)
        new_size = UnwrittenFile.of(source, restoration.pieces).size
        _require_writable(path, source, new_size, copy_links=copy_links)
        verify = partial(_verify_restored, expected=restoration.old_hash)
        tags = layout_of(source).tags
        return _PlannedSave(tags, tags, restoration.pieces, verify)

    return _replace_file(path, plan, before_replace, keep_mtime=keep_mtime)


def _changed_since(path: Path) -> ChangedSinceError:
    return ChangedSinceError(f"{quoted(path)} is not the file that was written")


@dataclass(frozen=True, slots=True)
class _PlannedSave:
    """The old and new tags and the pieces of the new file, which are empty without a change.

    `verify` checks a copy on disk and returns its tags and audio hash.
    """

    before: TagSet
    after: TagSet
    pieces: Sequence[Piece]
    verify: Callable[[OpenFile, Path], tuple[TagSet, str]]


def _plan_save(
    path: Path,
    source: OpenFile,
    change: Callable[[TagSet], TagSet],
    *,
    copy_links: bool,
    is_undo: bool = False,
) -> _PlannedSave:
    """Return the tags and pieces that a save will write; check all that needs no copy."""
    layout = layout_of(source)
    before = layout.tags
    after = change(before)
    verify = partial(_verify_copy, before=before, after=after, is_undo=is_undo)
    if after == before:
        return _PlannedSave(before, after, (), verify)
    try:
        new = UnwrittenFile.of(source, file_with_tags(layout, after))
    except AudioError as error:
        raise NotWritableError(path, error.problem) from error
    _require_writable(path, source, new.size, copy_links=copy_links)
    _require_readable(path, new, before, after, is_undo=is_undo)
    return _PlannedSave(before, after, new.pieces, verify)


def _replace_file(
    path: Path,
    plan: Callable[[OpenFile], _PlannedSave],
    before_replace: Callable[[PreparedCopy], None],
    *,
    keep_mtime: bool,
    timeout_s: float = locks.LOCK_TIMEOUT_S,
) -> SaveResult:
    target = _resolved(path)
    with locks.file_lock(target, timeout_s) as source:
        status = os.fstat(source.descriptor)
        planned = plan(source)
        before, pieces = planned.before, planned.pieces
        if not pieces:
            return SaveResult(target, changed=False, before=before, after=before)
        with (
            _folder_times(target.parent, keep=keep_mtime) as lost_times,
            _copy(target, source.chunks(pieces)) as (temporary, copy, new_hash),
        ):
            lost = _copy_metadata(source, status, copy, keep_mtime=keep_mtime)
            os.fsync(copy)
            after, audio = planned.verify(source, temporary)
            _require_unchanged(target, status)
            restoration = restoration_of(source, pieces, new_hash)
            before_replace(PreparedCopy(target, temporary, audio, before, after, restoration))
            _require_unchanged(target, status)
            temporary.replace(target)
        _sync_folder(target.parent)
    lost = (*lost, *lost_times)
    return SaveResult(target, changed=True, before=before, after=after, audio_hash=audio, lost=lost)


def _resolved(path: Path) -> Path:
    """Return the file that a symbolic link points to, because the link itself is preserved."""
    try:
        return path.resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return path  # opening it will report the error


def _require_writable(
    path: Path, source: OpenFile, new_size: int, *, copy_links: bool = False
) -> None:
    """Raise `SaveError` if a copy of `new_size` bytes cannot replace the file."""
    target, status = source.path, os.fstat(source.descriptor)
    folder = target.parent
    reasons = []
    if status.st_nlink > 1 and not copy_links:
        reasons.append(
            f"it has {status.st_nlink} names (hard links), and the others would keep the old tags:"
            " use --copy-links to replace this name with a copy"
        )
    if not status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH):
        reasons.append("it is read-only: make it writable (chmod u+w)")
    elif not _is_writable(target):
        reasons.append("this user may not write it")
    elif locks.is_append_only(source.descriptor):
        reasons.append("it is append-only or immutable (undo this with `chattr -ai`)")
    if not _is_writable(folder):
        reasons.append(_REFUSALS[errno.EACCES])
    elif _is_append_only(folder):
        reasons.append("its folder is append-only (undo this with `chattr -a`)")
    if not reasons and not _may_own(status, folder):
        reasons.append(_owner_problem(status))
    if reasons:
        raise NotWritableError(path, "; ".join(reasons))
    free, needed = _free_bytes(folder), new_size + _SPARE_BYTES
    if free is not None and free < needed:
        raise SaveError(
            f"{quoted(path)} was not changed: the disk has no room for a copy"
            f" ({free:,} bytes are free, {needed:,} needed)"
        )


def _may_own(status: os.stat_result, folder: Path) -> bool:
    """Tell whether this user may create a file in `folder` with the owner and group in `status`."""
    user = os.geteuid()
    if user == 0 or status.st_uid != user:
        return user == 0
    parent = folder.stat()
    groups = {os.getegid(), *os.getgroups(), *({parent.st_gid} if parent.st_mode & S_ISGID else ())}
    return status.st_gid in groups


def _owner_problem(status: os.stat_result) -> str:
    return (
        f"it belongs to user {status.st_uid} and group {status.st_gid}, to which this user cannot"
        " assign the new file"
    )


def _is_append_only(folder: Path) -> bool:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return locks.is_append_only(descriptor)
    finally:
        os.close(descriptor)


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _free_bytes(folder: Path) -> int | None:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    return disk.f_bavail * disk.f_frsize if disk.f_blocks else None


@contextmanager
def _copy(target: Path, chunks: Iterable[bytes]) -> Iterator[tuple[Path, int, bytes]]:
    """Yield path, descriptor and SHA-256 of a new file, which is removed unless it is moved."""
    temporary = target.parent / locks.new_temporary_name(target)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    is_created, digest = False, hashlib.sha256()
    try:
        descriptor = os.open(temporary, flags, 0o600)
        is_created = True
        try:
            locks.try_lock(descriptor)
            for chunk in chunks:
                digest.update(chunk)
                unwritten = memoryview(chunk)
                while unwritten:
                    unwritten = unwritten[os.write(descriptor, unwritten) :]
            yield temporary, descriptor, digest.digest()
        finally:
            os.close(descriptor)
    except OSError as error:
        if why := _REFUSALS.get(error.errno or 0):
            raise NotWritableError(target, why) from error
        reason = error.strerror or str(error)
        if error.errno in _NO_ROOM:
            reason = f"the disk has no room for a copy ({reason})"
        raise SaveError(f"{quoted(target)} was not changed: {reason}") from error
    finally:
        if is_created:
            with suppress(OSError):  # moved already, or removed by `remove_leftovers` later
                temporary.unlink()


def _copy_metadata(
    source: OpenFile, status: os.stat_result, copy: int, *, keep_mtime: bool
) -> tuple[str, ...]:
    """Give a copy the owner, mode and attributes of its source; return the lost attributes."""
    created = os.fstat(copy)
    if (created.st_uid, created.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(copy, status.st_uid, status.st_gid)
        except PermissionError as error:
            raise NotWritableError(source.path, _owner_problem(status)) from error
    lost = _copy_attributes(source.descriptor, copy)
    os.fchmod(copy, S_IMODE(status.st_mode))
    if keep_mtime:
        os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    return lost


def _copy_attributes(source: int, copy: int) -> tuple[str, ...]:
    if not hasattr(os, "listxattr"):  # Python has these functions only on Linux
        return ()
    try:
        names = os.listxattr(source)
    except OSError as error:
        if error.errno in _NO_ATTRIBUTE:
            return ()
        raise
    lost = []
    for name in names:
        try:
            os.setxattr(copy, name, os.getxattr(source, name))
        except OSError as error:
            if error.errno not in _NO_ATTRIBUTE:
                raise
            lost.append(name)
    return tuple(lost)


def _require_readable(
    path: Path, new: OpenFile, before: TagSet, after: TagSet, *, is_undo: bool
) -> None:
    """Raise `SaveError` unless canon and mutagen read the tags `after` from a new file."""
    try:
        tags = layout_of(new).tags
        if tags == after and not is_undo:
            require_read_back(new, before, after)
    except AudioError as error:
        reason = f"with the new tags it could not be read back: {error.problem}"
        raise NotWritableError(path, reason) from error
    if tags != after:
        raise NotWritableError(path, "the tags read back are not the new tags")


def _verify_copy(
    source: OpenFile, temporary: Path, *, before: TagSet, after: TagSet, is_undo: bool
) -> tuple[TagSet, str]:
    """Return `after` and the audio hash. Raises `SaveError` if a copy has other tags or audio."""
    with open_file.open_audio(temporary) as copy:
        _require_readable(source.path, copy, before, after, is_undo=is_undo)
        audio = hash_if_same(source, copy)
    if audio is None or layout_of(source).tags != before:
        raise SaveError(f"{quoted(source.path)} was not changed: the copy has different audio")
    return after, audio


def _verify_restored(source: OpenFile, temporary: Path, *, expected: bytes) -> tuple[TagSet, str]:
    with open_file.open_audio(temporary) as copy:
        if file_hash(copy) != expected:
            raise SaveError(
                f"{quoted(source.path)} was not changed: the journal does not restore the old file"
            )
        return layout_of(copy).tags, audio_hash(temporary)


def _require_unchanged(target: Path, status: os.stat_result) -> None:
    try:
        current = os.stat(target, follow_symlinks=False)  # noqa: PTH116  # as it was opened
    except OSError as error:
        raise SaveError(f"{quoted(target)} was removed while its tags were prepared") from error
    if any(getattr(current, name) != getattr(status, name) for name in _IDENTITY):
        raise SaveError(f"{quoted(target)} was not changed: another program changed it meanwhile")


@contextmanager
def _folder_times(folder: Path, *, keep: bool) -> Iterator[list[str]]:
    """Reset the times of a folder at the end; the yielded list names what could not be reset."""
    lost = list[str]()
    status = folder.stat()
    try:
        yield lost
    finally:
        if keep:
            try:
                os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns))
            except OSError:
                lost.append("modification time of the folder")


def _sync_folder(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise UnconfirmedError(
                f"a file in {quoted(folder)} has its new tags, but the disk did not confirm it"
                f" ({error.strerror}): after a power cut it may have the old ones again"
            ) from error


def restoration_of(old: OpenFile, pieces: Iterable[Piece], new_hash: bytes) -> Restoration:
    """Return how to restore `old` from the file that consists of `pieces`. Raises `AudioError`."""
    copied, new_chunks, at = list[_CopiedSpan](), dict[bytes, int](), 0
    for piece in pieces:
        if isinstance(piece, ByteSpan):
            renumbering = (piece.serial, -piece.shift) if isinstance(piece, RenumberedPages) else ()
            copied.append((piece.start, at, piece.size, renumbering))
            at += piece.size
            continue
        for chunk in _CHUNK.findall(piece):
            new_chunks[chunk] = at
            at += len(chunk)
    parts = tuple(_merged(_parts(old, sorted(copied), new_chunks)))
    return Restoration(file_hash(old), new_hash, parts)


def file_hash(source: OpenFile) -> bytes:
    """Return the SHA-256 of a whole file."""
    digest = hashlib.sha256()
    for chunk in source.chunks([ByteSpan(0, source.size)]):
        digest.update(chunk)
    return digest.digest()


_CopiedSpan = tuple[int, int, int, tuple[int, ...]]
"""Start in the old file, start in the new file, size, and how to renumber Ogg pages back."""


def _parts(
    old: OpenFile, copied: list[_CopiedSpan], new_chunks: dict[bytes, int]
) -> Iterator[_RestorationPart]:
    """Yield the old file from its beginning; `new_chunks` maps bytes to their start in the new."""
    at = 0
    for start, new_start, size, renumbering in (*copied, (old.size, 0, 0, ())):
        for chunk in _CHUNK.findall(old.read(at, max(0, start - at))):
            yield (new_chunks[chunk], len(chunk)) if chunk in new_chunks else chunk
        skipped = max(0, at - start)
        if size > skipped:
            yield (new_start + skipped, size - skipped, *renumbering)
        at = max(at, start + size)


def _merged(parts: Iterable[_RestorationPart]) -> Iterator[_RestorationPart]:
    last: _RestorationPart = b""
    for part in parts:
        if isinstance(last, bytes) and isinstance(part, bytes):
            last += part
        elif isinstance(last, bytes) or isinstance(part, bytes) or last[2:] or part[2:]:
            yield last
            last = part
        elif sum(last) == part[0]:
            last = (last[0], last[1] + part[1])
        else:
            yield last
            last = part
    yield last
