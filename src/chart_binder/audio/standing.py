"""What a file is beside its content: owner, mode, extended attributes, times."""

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE

from chart_binder.audio.files import shown
from chart_binder.errors import SaveError

# What file systems answer that have no extended attributes, or not this one.
_NOT_THERE = frozenset({errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENODATA})


@dataclass(frozen=True, slots=True)
class Standing:
    """What tells whether a file is still the one that was read."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Standing":
        """Return it for what `stat` found."""
        return cls(
            status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        )


def hand_down(
    path: Path, source: int, status: os.stat_result, copy: int, *, keep_mtime: bool
) -> tuple[str, ...]:
    """Give a copy the owner, mode and extended attributes (access lists too) of its source.

    Returns the names of the attributes that could not be kept. Raises `SaveError` where the owner
    or group would change, `OSError` for what the system refuses otherwise.
    """
    _keep_owner(path, status, copy)
    lost = _copied_attributes(source, copy)
    os.fchmod(copy, S_IMODE(status.st_mode))
    if keep_mtime:
        os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    return lost


def _keep_owner(path: Path, status: os.stat_result, copy: int) -> None:
    now = os.fstat(copy)
    if (now.st_uid, now.st_gid) == (status.st_uid, status.st_gid):
        return
    try:
        os.fchown(copy, status.st_uid, status.st_gid)
    except PermissionError as error:
        raise SaveError(
            f"{shown(path)} is left as it is: it belongs to user {status.st_uid} and group"
            f" {status.st_gid}, which this user cannot hand the new file to"
        ) from error


def _copied_attributes(source: int, copy: int) -> tuple[str, ...]:
    if not hasattr(os, "listxattr"):  # only Linux has these calls in Python
        return ()
    try:
        names = os.listxattr(source)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return ()
        raise
    lost = []
    for name in names:
        try:
            value = os.getxattr(source, name)
            os.setxattr(copy, name, value)
        except OSError as error:
            if error.errno not in _NOT_THERE:
                raise
            lost.append(name)
    return tuple(lost)
