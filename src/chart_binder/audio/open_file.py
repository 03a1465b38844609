"""Open audio files, which are read at any offset, and files that are put together from pieces."""

import errno
import io
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from chart_binder.errors import AudioError, NoAudioError
from chart_binder.files import path_error, quoted

# The usual suffixes of the formats that mediafile reads, except .mp4 and .asf (mostly video).
# fmt: off
AUDIO_SUFFIXES = frozenset({
    ".aif", ".aifc", ".aiff", ".ape", ".dsf", ".flac", ".m4a", ".m4b", ".m4p", ".mp+", ".mp2",
    ".mp3", ".mpc", ".oga", ".ogg", ".opus", ".wav", ".wave", ".wma", ".wv",
})
# fmt: on

_CHUNK_BYTES = 1 << 20  # the most that is read into memory at a time
_MAX_TAG_BYTES = 1 << 28  # a tag length above this is damaged
_STREAM_BYTES = 1 << 16  # most headers fit into one buffer


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """A range of bytes of an open file, by offset and size."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """The offset behind the last byte."""
        return self.start + self.size

    def part(self, skipped: int, size: int) -> "ByteSpan":
        """Return `size` bytes of the range, starting behind the `skipped` first bytes."""
        return ByteSpan(self.start + skipped, size)

    def chunks(self, source: "OpenFile") -> Iterator[bytes]:
        """Yield the bytes, at most a megabyte at a time; raise `AudioError`."""
        at = self.start
        while at < self.end:
            try:
                chunk = os.pread(source.descriptor, min(_CHUNK_BYTES, self.end - at), at)
            except OSError as error:
                raise path_error(source.path, error) from error
            if not chunk:
                raise source.damaged("it became shorter while it was being read")
            yield chunk
            at += len(chunk)


Piece = bytes | ByteSpan


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open audio file that can be read at any offset."""

    path: Path
    descriptor: int
    size: int

    def read(self, start: int, size: int) -> bytes:
        """Return `size` bytes from offset `start`. Raises `AudioError` if the file is shorter."""
        if start < 0 or size < 0 or start + size > self.size:
            raise self.damaged("it ends inside a structure that its header announces")
        if size > _MAX_TAG_BYTES:
            raise self.damaged(f"its header announces a tag of {size:,} bytes")
        return b"".join(self.chunks([ByteSpan(start, size)]))

    def has(self, start: int, expected: bytes) -> bool:
        """Tell whether the file has the expected bytes at offset `start`."""
        if start < 0 or start + len(expected) > self.size:
            return False
        return self.read(start, len(expected)) == expected

    def chunks(self, pieces: Iterable[Piece]) -> Iterator[bytes]:
        """Yield the bytes of the pieces, at most a megabyte at a time; raise `AudioError`."""
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                yield from piece.chunks(self)

    def stream(self) -> BinaryIO:
        """Return a stream of the content; its `name` is the path. Raises `OSError`."""
        stream = open(self.path, "rb", opener=lambda *_: os.dup(self.descriptor))  # noqa: SIM115
        stream.seek(0)  # duplicated descriptors share their position
        return stream

    def damaged(self, detail: str) -> AudioError:
        """Return the error for invalid content."""
        return no_audio(self.path, f"is damaged, cut short or not what its name says: {detail}")


@dataclass(frozen=True, slots=True)
class UnwrittenFile(OpenFile):
    """A file that is not on disk yet: new bytes and spans of the old file that it will replace."""

    pieces: Sequence[Piece]
    ends: Sequence[int]
    old: OpenFile

    @classmethod
    def of(cls, old: OpenFile, pieces: Sequence[Piece]) -> "UnwrittenFile":
        """Return the file that consists of the pieces; their spans refer to `old`."""
        ends = list(accumulate(map(piece_size, pieces)))
        return cls(old.path, old.descriptor, ends[-1] if ends else 0, pieces, ends, old)

    def chunks(self, pieces: Iterable[Piece]) -> Iterator[bytes]:
        """Yield the bytes of pieces; their spans are offsets in the new file."""
        return self.old.chunks(self._in_old_file(pieces))

    def stream(self) -> BinaryIO:
        """Return a stream of the content; its `name` is the path."""
        return io.BufferedReader(_FileStream(self), _STREAM_BYTES)

    def _in_old_file(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            at, index = piece.start, bisect_right(self.ends, piece.start)
            while at < piece.end:
                old_piece, end = self.pieces[index], self.ends[index]
                skipped = at - end + piece_size(old_piece)
                size = min(piece.end, end) - at
                if isinstance(old_piece, bytes):
                    yield old_piece[skipped : skipped + size]
                else:
                    yield old_piece.part(skipped, size)
                at, index = at + size, index + 1


def piece_size(piece: Piece) -> int:
    """Return the number of bytes in a piece."""
    return len(piece) if isinstance(piece, bytes) else piece.size


class _FileStream(io.RawIOBase):
    def __init__(self, source: OpenFile) -> None:
        super().__init__()
        self.name = source.path
        self._source, self._at = source, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_CUR: self._at, os.SEEK_END: self._source.size}.get(whence, 0)
        if origin + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._at = origin + offset
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        size = max(0, min(len(buffer), self._source.size - self._at))
        content = b"".join(self._source.chunks([ByteSpan(self._at, size)]))
        buffer[:size] = content
        self._at += size
        return size


def no_audio(path: Path, problem: str) -> AudioError:
    """Return a `NoAudioError` if the file has a suffix of audio files, else an `AudioError`."""
    error = NoAudioError if path.suffix.lower() in AUDIO_SUFFIXES else AudioError
    return error(problem, quoted(path))


@contextmanager
def open_audio(path: Path) -> Iterator[OpenFile]:
    """Open a regular file that is not empty. Raises `AudioError` for anything else."""
    try:  # without O_NONBLOCK, opening a pipe would wait for a writer
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise path_error(path, error) from error
    try:
        status = os.fstat(descriptor)
        if S_ISDIR(status.st_mode):
            raise AudioError("is a folder, not an audio file", quoted(path))
        if not S_ISREG(status.st_mode):
            raise AudioError("is a device or a pipe, not an audio file", quoted(path))
        if not status.st_size:
            raise no_audio(path, "is empty (0 bytes)")
        yield OpenFile(path, descriptor, status.st_size)
    finally:
        os.close(descriptor)
