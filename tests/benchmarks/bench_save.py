"""A safe save against mediafile's save in place: `python tests/benchmarks/bench_save.py`.

By size of the file, for a FLAC file with room behind its tags (in place, only the head is written)
and one without (in place, everything moves). Each round does all of them once; medians count. A
copy that is forced to the disk is the least that any safe way has to do. In place, nothing is.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mediafile import MediaFile
from mutagen.flac import FLAC

from chart_binder.audio.fields import with_fields
from chart_binder.audio.save import save_tags

BARE = Path(__file__).parents[1] / "audio" / "files" / "bare.flac"
SIZES = {"100 kB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000, "100 MB": 100_000_000}
ROUNDS = {"100 kB": 15, "1 MB": 15, "10 MB": 9, "100 MB": 5}
LIMIT = 12.0
"""How many times as long as a copy on the disk a safe save of 10 MB or more may take."""

ALBUM = "Lateralus " * 20


def made(path: Path, size: int, *, room: int) -> None:
    """Write a FLAC file of this size; what it sounds like does not matter to any of them."""
    shutil.copy(BARE, path)
    audio = FLAC(path)
    audio.save(padding=lambda _: room)
    with path.open("ab") as file:
        left = size - path.stat().st_size
        noise = os.urandom(1 << 20)
        while left > 0:
            left -= file.write(noise[: min(left, len(noise))])
        file.flush()
        os.fsync(file.fileno())


def in_place(path: Path) -> None:
    """Save as other taggers do."""
    audio = MediaFile(path)
    audio.album = ALBUM
    audio.save()


def safely(path: Path) -> None:
    """Save as this program does."""
    save_tags(path, lambda tags: with_fields(tags, {"album": [ALBUM]}))


def copied(path: Path) -> None:
    """Copy, force it to the disk, replace: a safe save that proves nothing."""
    other = path.with_name("copy")
    shutil.copyfile(path, other)
    with other.open("rb") as file:
        os.fsync(file.fileno())
    other.replace(path)


WAYS: dict[str, tuple[int, Callable[[Path], None]]] = {
    "in place, room": (4096, in_place),
    "in place, no room": (0, in_place),
    "copy": (0, copied),
    "safe": (0, safely),
}


def milliseconds(way: str, folder: Path, size: int) -> float:
    """Return how long one save of a fresh file takes."""
    room, save = WAYS[way]
    path = folder / "song.flac"
    made(path, size, room=room)
    begun = time.perf_counter()
    save(path)
    return (time.perf_counter() - begun) * 1000


def main() -> int:
    """Print times and ratios; return 1 if a limit is passed."""
    over = False
    print(f"{'':8}" + "".join(f"{way:>20}" for way in WAYS) + "   safe against: place, moved, copy")
    for name, size in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            rounds = [
                {way: milliseconds(way, Path(folder), size) for way in WAYS}
                for _ in range(ROUNDS[name])
            ]
        spent = {way: statistics.median(each[way] for each in rounds) for way in WAYS}
        ratios = [
            statistics.median(each["safe"] / each[way] for each in rounds) for way in list(WAYS)[:3]
        ]
        over |= size >= SIZES["10 MB"] and ratios[2] > LIMIT
        times = "".join(f"{spent[way]:17.1f} ms" for way in WAYS)
        print(f"{name:8}{times}   " + ", ".join(f"{ratio:.1f} x" for ratio in ratios))
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
