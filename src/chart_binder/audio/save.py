"""Saving of changed tags: a copy is written beside the file, proven, and takes the file's place.

At any moment, whatever kills the process or fills the disk, the file is either as it was, byte for
byte, or as it was meant to be. A `Restoration` makes the former file of the new one.
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

from chart_binder.audio import file_access
from chart_binder.audio.containers import audio_hash, file_with_tags, hash_if_same, layout_of
from chart_binder.audio.containers.vorbis import RenumberedPages
from chart_binder.audio.file_access import ByteSpan, OpenFile, Piece, UnwrittenFile
from chart_binder.audio.read_back import require_read_back
from chart_binder.audio.tagset import TagSet
from chart_binder.errors import AudioError, SaveError
from chart_binder.files import quoted

_SPARE_BYTES = 1 << 20  # what must stay free on the disk beside a copy

_IDENTITY = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSALS = {
    errno.EPERM: "the system does not let it be replaced (it is immutable, or not this user's)",
    errno.EROFS: "it is on a read-only disk",
    errno.EACCES: "its folder may not be written, where a copy has to be made first",
}
# Ends where the bytes themselves say so: equal bytes are cut alike, wherever they stand.
_CHUNK = re.compile(rb"(?s).{256,4096}?(?=[\0-\3])|.{1,4096}")
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})
# The answers of file systems that have no extended attributes, or not this one.
_NO_ATTRIBUTE = frozenset({errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENODATA})


class NotWritableError(SaveError):
    """The file must not be replaced until somebody changes what `why` says."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{quoted(path)} is left as it is: {why}")
        self.why = why


class ChangedSinceError(SaveError):
    """The file is not, byte for byte, the one that was written."""


class UnconfirmedError(SaveError):
    """The file was replaced, but the disk did not confirm that this will last."""


_RestorationPart = bytes | Annotated[tuple[int, ...], msgspec.Meta(min_length=2, max_length=4)]


class Restoration(msgspec.Struct, frozen=True, array_like=True):
    """What makes the file before a write of the file after it; hashes are SHA-256 over whole files.

    `parts` are, in order, bytes that only the former file has, or start and size in the new one; of
    renumbered pages of Ogg also the number of their stream, and what is added to those of pages.
    """

    old_hash: bytes
    new_hash: bytes
    parts: tuple[_RestorationPart, ...]

    @property
    def document(self) -> bytes:
        """The compressed record; `from_document` reads it back without loss."""
        return zlib.compress(msgspec.msgpack.encode(self))

    @classmethod
    def from_document(cls, document: bytes) -> "Restoration":
        """Read what `document` returned; raise `AudioError` for anything else."""
        try:
            return msgspec.msgpack.decode(zlib.decompress(document), type=cls)
        except (zlib.error, msgspec.MsgspecError) as error:
            raise AudioError(f"the journal does not have the former file: {error}") from error

    @property
    def pieces(self) -> list[Piece]:
        """The former file, in bytes and spans of the new one."""
        return [part if isinstance(part, bytes) else _span(*part) for part in self.parts]


def _span(start: int, size: int, serial: int | None = None, shift: int = 0) -> ByteSpan:
    return (
        ByteSpan(start, size)
        if serial is None
        else RenumberedPages(start, size, serial, shift, (start,))
    )


@dataclass(frozen=True, slots=True)
class PreparedCopy:
    """A proven copy to take `path`'s place; `restoration` makes the present file of it."""

    path: Path
    temporary: Path
    audio_hash: str
    before: TagSet
    after: TagSet
    restoration: Restoration


@dataclass(frozen=True, slots=True)
class SaveResult:
    """The outcome of a save; `lost` names attributes and times that could not be kept."""

    path: Path
    changed: bool
    before: TagSet
    after: TagSet
    audio_hash: str | None = None
    lost: tuple[str, ...] = ()


def do_nothing(_: PreparedCopy) -> None:
    """Do nothing before a file is replaced."""


def check_tags(
    path: Path,
    change: Callable[[TagSet], TagSet],
    *,
    copy_links: bool = False,
    is_undo: bool = False,
) -> tuple[TagSet, TagSet]:
    """Return the tags of a file before and after a change, and write nothing.

    All that `save_tags` asks before it makes a copy is asked, and the same errors are raised.
    """
    target = _resolved(path) if path.is_symlink() else path
    with file_access.open_audio(target) as source:
        draft = _draft(path, source, change, copy_links=copy_links, is_undo=is_undo)
    return draft.before, draft.after


def check_restore(
    path: Path, restorations: Sequence[Restoration], *, copy_links: bool = False
) -> None:
    """Raise what `restore_file` would for the last of these after the others; write nothing."""
    with file_access.open_audio(_resolved(path)) as source:
        found = file_hash(source)
        for restoration in restorations:
            if found != restoration.new_hash:
                raise _changed_since(path)
            found = restoration.old_hash
        new_size = sum(map(file_access.piece_size, restorations[-1].pieces))
        _require_writable(path, source, new_size, copy_links=copy_links)


def save_tags(
    path: Path,
    change: Callable[[TagSet], TagSet],
    *,
    keep_mtime: bool = False,
    copy_links: bool = False,
    is_undo: bool = False,
    timeout_s: float = file_access.LOCK_TIMEOUT_S,
    before_replace: Callable[[PreparedCopy], None] = do_nothing,
) -> SaveResult:
    """Replace the tags of a file by what `change` returns for them.

    Owner, mode, extended attributes and access lists are kept, with `keep_mtime` also the times of
    the last change, that of the folder included. With `copy_links` a file with other names (hard
    links) is replaced under this one. `before_replace` is called when the copy is on the disk and
    is proven to have the same audio and the tags meant, which mutagen has to find as well unless it
    `is_undo`; what it raises leaves the file as it was. Another run that has the file locked is
    waited for, and `change` gets the tags that it wrote.

    Raises `AudioError` for a file that cannot be read or values that its tags cannot hold,
    `FileInUseError` if another run holds it longer than `timeout_s`, and `SaveError` if it must not
    or cannot be replaced; the file is as it was then, except after `UnconfirmedError`.
    """

    def draft(source: OpenFile) -> _PlannedSave:
        return _draft(path, source, change, copy_links=copy_links, is_undo=is_undo)

    return _replace_file(path, draft, before_replace, keep_mtime=keep_mtime, timeout_s=timeout_s)


def restore_file(
    path: Path,
    restoration: Restoration,
    *,
    keep_mtime: bool = False,
    copy_links: bool = False,
    before_replace: Callable[[PreparedCopy], None] = do_nothing,
) -> SaveResult:
    """Replace a written file by the former one. Raises `ChangedSinceError` if it is another now."""

    def draft(source: OpenFile) -> _PlannedSave:
        if file_hash(source) != restoration.new_hash:
            raise _changed_since(path)
        new_size = UnwrittenFile.of(source, restoration.pieces).size
        _require_writable(path, source, new_size, copy_links=copy_links)
        prove = partial(_require_restored, expected=restoration.old_hash)
        tags = layout_of(source).tags
        return _PlannedSave(tags, tags, restoration.pieces, prove)

    return _replace_file(path, draft, before_replace, keep_mtime=keep_mtime)


def _changed_since(path: Path) -> ChangedSinceError:
    return ChangedSinceError(f"{quoted(path)} is not the file that was written")


@dataclass(frozen=True, slots=True)
class _PlannedSave:
    """A change: the tags, the new file (nothing for no change), what returns its tags and hash."""

    before: TagSet
    after: TagSet
    pieces: Sequence[Piece]
    prove: Callable[[OpenFile, Path], tuple[TagSet, str]]


def _draft(
    path: Path,
    source: OpenFile,
    change: Callable[[TagSet], TagSet],
    *,
    copy_links: bool,
    is_undo: bool = False,
) -> _PlannedSave:
    """Return what a save would write, proven as far as it can be without a copy."""
    layout = layout_of(source)
    before = layout.tags
    after = change(before)
    prove = partial(_require_proven, before=before, after=after, is_undo=is_undo)
    if after == before:
        return _PlannedSave(before, after, (), prove)
    try:
        new = UnwrittenFile.of(source, file_with_tags(layout, after))
    except AudioError as error:
        raise NotWritableError(path, _reason(path, error)) from error
    _require_writable(path, source, new.size, copy_links=copy_links)
    _require_readable(path, new, before, after, is_undo=is_undo)
    return _PlannedSave(before, after, new.pieces, prove)


def _reason(path: Path, error: AudioError) -> str:
    """Return what an error says of a file, without its path."""
    text, name = str(error), f"{quoted(path)} "
    return f"it {text.removeprefix(name)}" if text.startswith(name) else text


def _replace_file(
    path: Path,
    draft: Callable[[OpenFile], _PlannedSave],
    before_replace: Callable[[PreparedCopy], None],
    *,
    keep_mtime: bool,
    timeout_s: float = file_access.LOCK_TIMEOUT_S,
) -> SaveResult:
    target = _resolved(path)
    with file_access.file_lock(target, timeout_s) as source:
        status = os.fstat(source.descriptor)
        new = draft(source)
        before, pieces = new.before, new.pieces
        if not pieces:
            return SaveResult(target, changed=False, before=before, after=before)
        with (
            _folder_times(target.parent, keep=keep_mtime) as lost_times,
            _copy(target, source.chunks(pieces)) as (temporary, copy, new_hash),
        ):
            lost = _copy_metadata(source, status, copy, keep_mtime=keep_mtime)
            os.fsync(copy)
            after, sound = new.prove(source, temporary)
            _require_unchanged(target, status)
            restoration = restoration_of(source, pieces, new_hash)
            before_replace(PreparedCopy(target, temporary, sound, before, after, restoration))
            _require_unchanged(target, status)
            temporary.replace(target)
        _sync_folder(target.parent)
    lost = (*lost, *lost_times)
    return SaveResult(target, changed=True, before=before, after=after, audio_hash=sound, lost=lost)


def _resolved(path: Path) -> Path:
    """Return the file that a symbolic link leads to: the link itself stays."""
    try:
        return path.resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return path  # opening it reports why


def _require_writable(
    path: Path, source: OpenFile, new_size: int, *, copy_links: bool = False
) -> None:
    """Raise `SaveError` if a copy of `new_size` bytes may not take the place of a file."""
    target, status = source.path, os.fstat(source.descriptor)
    folder = target.parent
    reasons = []
    if status.st_nlink > 1 and not copy_links:
        reasons.append(
            f"it has {status.st_nlink} names (hard links), and the others would keep the old tags:"
            " put a copy in its place, as --copy-links does"
        )
    if not status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH):
        reasons.append("it is read-only: make it writable (chmod u+w)")
    elif not _is_writable(target):
        reasons.append("this user may not write it")
    elif file_access.is_append_only(source.descriptor):
        reasons.append("it is append-only or immutable (`chattr -ai` takes that back)")
    if not _is_writable(folder):
        reasons.append(_REFUSALS[errno.EACCES])
    elif _is_append_only(folder):
        reasons.append("its folder is append-only (`chattr -a` takes that back)")
    if not reasons and not _may_own(status, folder):
        reasons.append(_of_another(status))
    if reasons:
        raise NotWritableError(path, "; ".join(reasons))
    free, needed = _free_bytes(folder), new_size + _SPARE_BYTES
    if free is not None and free < needed:
        raise SaveError(
            f"{quoted(path)} is left as it is: there is no room for a copy beside it"
            f" ({free:,} bytes are free, {needed:,} needed)"
        )


def _may_own(status: os.stat_result, folder: Path) -> bool:
    """Say whether this user may make a file of the owner and group that a file has."""
    user = os.geteuid()
    if user == 0 or status.st_uid != user:
        return user == 0
    above = folder.stat()
    groups = {os.getegid(), *os.getgroups(), *({above.st_gid} if above.st_mode & S_ISGID else ())}
    return status.st_gid in groups


def _of_another(status: os.stat_result) -> str:
    return (
        f"it belongs to user {status.st_uid} and group {status.st_gid}, which this user cannot hand"
        " the new file to"
    )


def _is_append_only(folder: Path) -> bool:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return file_access.is_append_only(descriptor)
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
    """Yield path, descriptor and SHA-256 of a new file, which is removed unless it was moved."""
    temporary = target.parent / file_access.new_temporary_name(target)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    made, digest = False, hashlib.sha256()
    try:
        descriptor = os.open(temporary, flags, 0o600)
        made = True
        try:
            file_access.try_lock(descriptor)
            for chunk in chunks:
                digest.update(chunk)
                rest = memoryview(chunk)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
            yield temporary, descriptor, digest.digest()
        finally:
            os.close(descriptor)
    except OSError as error:
        if why := _REFUSALS.get(error.errno or 0):
            raise NotWritableError(target, why) from error
        reason = error.strerror or str(error)
        if error.errno in _NO_ROOM:
            reason = f"there is no room for a copy beside it ({reason})"
        raise SaveError(f"{quoted(target)} is left as it is: {reason}") from error
    finally:
        if made:
            with suppress(OSError):  # replaced already, or left to the next sweep
                temporary.unlink()


def _copy_metadata(
    source: OpenFile, status: os.stat_result, copy: int, *, keep_mtime: bool
) -> tuple[str, ...]:
    """Give a copy the owner, mode and attributes of its source; return those it cannot have."""
    now = os.fstat(copy)
    if (now.st_uid, now.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(copy, status.st_uid, status.st_gid)
        except PermissionError as error:
            raise NotWritableError(source.path, _of_another(status)) from error
    lost = _copy_attributes(source.descriptor, copy)
    os.fchmod(copy, S_IMODE(status.st_mode))
    if keep_mtime:
        os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    return lost


def _copy_attributes(source: int, copy: int) -> tuple[str, ...]:
    if not hasattr(os, "listxattr"):  # only Linux has these calls in Python
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
    """Raise `SaveError` unless a new file has the tags that are meant, and mutagen finds them."""
    try:
        tags = layout_of(new).tags
        if tags == after and not is_undo:
            require_read_back(new, before, after)
    except AudioError as error:
        reason = f"with the new tags it could not be read back: {_reason(path, error)}"
        raise NotWritableError(path, reason) from error
    if tags != after:
        raise NotWritableError(path, "the tags read back are not those that were meant")


def _require_proven(
    source: OpenFile, temporary: Path, *, before: TagSet, after: TagSet, is_undo: bool
) -> tuple[TagSet, str]:
    """Return `after` and the hash of the audio, the same in both; raise `SaveError` otherwise."""
    with file_access.open_audio(temporary) as copy:
        _require_readable(source.path, copy, before, after, is_undo=is_undo)
        sound = hash_if_same(source, copy)
    if sound is None or layout_of(source).tags != before:
        raise SaveError(
            f"{quoted(source.path)} is left as it is: its audio is not the same in the copy"
        )
    return after, sound


def _require_restored(source: OpenFile, temporary: Path, *, expected: bytes) -> tuple[TagSet, str]:
    with file_access.open_audio(temporary) as copy:
        if file_hash(copy) != expected:
            raise SaveError(
                f"{quoted(source.path)} is left as it is: the journal does not lead back to it"
            )
        return layout_of(copy).tags, audio_hash(temporary)


def _require_unchanged(target: Path, status: os.stat_result) -> None:
    try:
        now = os.stat(target, follow_symlinks=False)  # noqa: PTH116  # as it was opened
    except OSError as error:
        raise SaveError(f"{quoted(target)} went away while its tags were prepared") from error
    if any(getattr(now, name) != getattr(status, name) for name in _IDENTITY):
        raise SaveError(f"{quoted(target)} is left as it is: another program changed it meanwhile")


@contextmanager
def _folder_times(folder: Path, *, keep: bool) -> Iterator[list[str]]:
    """Put the times of a folder back; what is yielded then names those that could not be kept."""
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
                f" ({error.strerror}): a power cut may bring the old ones back"
            ) from error


def restoration_of(old: OpenFile, pieces: Iterable[Piece], new_hash: bytes) -> Restoration:
    """Return what makes `old` of the file that consists of `pieces`; raise `AudioError`."""
    copied, written, at = list[_CopiedSpan](), dict[bytes, int](), 0
    for piece in pieces:
        if isinstance(piece, ByteSpan):
            renumbered = piece if isinstance(piece, RenumberedPages) else None
            back = (renumbered.serial, -renumbered.shift) if renumbered else ()
            copied.append((piece.start, at, piece.size, back))
            at += piece.size
            continue
        for chunk in _CHUNK.findall(piece):
            written[chunk] = at
            at += len(chunk)
    parts = tuple(_merged(_parts(old, sorted(copied), written)))
    return Restoration(file_hash(old), new_hash, parts)


def file_hash(source: OpenFile) -> bytes:
    """Return the SHA-256 over a whole file."""
    digest = hashlib.sha256()
    for chunk in source.chunks([ByteSpan(0, source.size)]):
        digest.update(chunk)
    return digest.digest()


_CopiedSpan = tuple[int, int, int, tuple[int, ...]]


def _parts(
    old: OpenFile, copied: list[_CopiedSpan], written: dict[bytes, int]
) -> Iterator[_RestorationPart]:
    """Yield the old file from its beginning; `copied` has what was: old place, new place, size.

    Of renumbered pages it has also what makes them what they were.
    """
    at = 0
    for start, place, size, back in (*copied, (old.size, 0, 0, ())):
        for chunk in _CHUNK.findall(old.read(at, max(0, start - at))):
            yield (written[chunk], len(chunk)) if chunk in written else chunk
        skipped = max(0, at - start)
        if size > skipped:
            yield (place + skipped, size - skipped, *back)
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
