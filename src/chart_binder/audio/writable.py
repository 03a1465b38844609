"""Some files are not to be replaced, though the system would let it happen."""

import os
from pathlib import Path
from stat import S_IWGRP, S_IWOTH, S_IWUSR

from chart_binder.audio.files import shown
from chart_binder.errors import SaveError

SPARE_BYTES = 1 << 20
"""What must stay free on the disk beside a copy."""


def require_writable(
    path: Path, target: Path, status: os.stat_result, *, break_links: bool
) -> None:
    """Raise `SaveError`, with the reason, if the file is not to be replaced by a copy.

    Replacing needs the folder only; still a file that nobody may write, or not this user, is
    somebody's wish to have it left alone.
    """
    if reasons := _reasons(target, status, break_links=break_links):
        raise SaveError(f"{shown(path)} is left as it is: {'; '.join(reasons)}")


def _reasons(target: Path, status: os.stat_result, *, break_links: bool) -> list[str]:
    reasons = []
    if status.st_nlink > 1 and not break_links:
        reasons.append(
            f"it has {status.st_nlink} names (hard links); replacing it under this one would leave"
            " the others with the old tags"
        )
    if not status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH):
        reasons.append("it is read-only")
    elif not _may_write(target):
        reasons.append("this user may not write it")
    if not _may_write(target.parent):
        reasons.append("its folder may not be written, where a copy has to be made first")
    free = _free_bytes(target.parent)
    if free is not None and free < status.st_size + SPARE_BYTES:
        reasons.append(
            f"there is no room for a copy beside it ({free:,} bytes are free,"
            f" {status.st_size + SPARE_BYTES:,} needed)"
        )
    return reasons


def _may_write(path: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(path, os.W_OK, effective_ids=effective)


def _free_bytes(folder: Path) -> int | None:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    return disk.f_bavail * disk.f_frsize if disk.f_blocks else None
