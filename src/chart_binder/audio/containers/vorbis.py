"""FLAC and Ogg files (Vorbis, Opus), whose tags are Vorbis comments.

A FLAC file stores them in a metadata block before the audio, an Ogg file in the second packet of
the stream.

Formats: Vorbis I specification, sections 4.2 and 5; RFC 9639, sections 8 and 10.1; RFC 7845,
section 5; RFC 3533
"""

import struct
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from chart_binder.audio.containers.mp3 import find_id3, find_tail
from chart_binder.audio.open_file import ByteSpan, OpenFile, Piece, piece_size
from chart_binder.audio.tagset import TagBlock, TagItem, TagSet
from chart_binder.errors import AudioError

FLAC_MAGIC = b"fLaC"
OGG_MAGIC = b"OggS"

NEW_HEAD = b"chart-binder"
"""The vendor string of comments in files that had none before."""

_NEW_PADDING = 4096  # bytes of padding added behind FLAC metadata that had to grow

# FLAC metadata blocks: their types, the size of a header, the flag of the last block.
_STREAMINFO, _PADDING, _COMMENTS, _PICTURE, _INVALID = 0, 1, 4, 6, 127
_BLOCK_HEADER, _LAST_BLOCK, _MAX_BLOCK = 4, 0x80, (1 << 24) - 1

_PAGE_HEADER, _MAX_HEADER_PAGES = 27, 1 << 14
_CONTINUED, _FIRST_PAGE = 1, 2
_NO_PACKET_ENDS = (1 << 64) - 1  # the position of a page on which no packet ends
_FULL_SEGMENT, _MAX_SEGMENTS = 255, 255
_MARK_DISTANCE = 1 << 20  # bytes between two marks of `RenumberedPages`
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def read_comments(body: bytes) -> tuple[TagBlock, bytes] | None:
    """Return the comments at the start of `body` and the bytes behind them, `None` if invalid."""
    vendor = _without_length(body, 0)
    if vendor is None or len(body) < len(vendor) + 8:
        return None
    at = 8 + len(vendor)
    items = []
    for _ in range(int.from_bytes(body[at - 4 : at], "little")):
        comment = _without_length(body, at)
        if comment is None:
            return None
        key, sign, _ = comment.partition(b"=")
        items.append(TagItem(key.decode("latin-1") if sign else "", comment))
        at += 4 + len(comment)
    return TagBlock("vorbis", tuple(items), vendor), body[at:]


def encode_comments(block: TagBlock) -> bytes:
    """Return the comments in the format of a packet or metadata block."""
    parts = [_with_length(block.head), struct.pack("<I", len(block.items))]
    return b"".join((*parts, *(_with_length(item.data) for item in block.items)))


def texts_of(item: TagItem) -> tuple[str, ...] | None:
    """Return the text of a comment."""
    return (item.data.partition(b"=")[2].decode("utf-8", "replace"),) if item.key else None


def text_items(key: str, texts: tuple[str, ...]) -> tuple[TagItem, ...]:
    """Return one comment per text."""
    return tuple(TagItem(key, f"{key}={text}".encode()) for text in texts)


def _without_length(body: bytes, at: int) -> bytes | None:
    start = at + 4
    end = start + int.from_bytes(body[at:start], "little")
    return body[start:end] if start <= len(body) and end <= len(body) else None


def _with_length(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


class FlacLayout:
    """A FLAC file; only its first block of comments is changed, because readers use that one."""

    written_forms = ("vorbis",)

    def __init__(self, source: OpenFile) -> None:
        self._source = source
        leading, size = find_id3(source, 0)
        self._start = size + len(FLAC_MAGIC)
        self._metadata = tuple(_metadata(source, self._start))
        if self._metadata[0][0] != _STREAMINFO:
            raise source.damaged("its first metadata block does not describe the stream")
        self._frames = self._metadata[-1][1].end
        self._end, tail = find_tail(source, self._frames)
        self._outer_tags = (*([leading] if leading else ()), *tail)

    @property
    def tags(self) -> TagSet:
        """The comments, the pictures, and the tags at both ends of the file."""
        blocks = []
        bodies = self._contents(_COMMENTS)
        if bodies:
            comments, trailing = read_comments(bodies[0]) or (None, b"")
            if comments is None or trailing.strip(b"\0"):
                raise self._source.damaged("its Vorbis comments do not fit their block")
            blocks.append(comments)
        for form, key, contents in (
            ("flac-comments", "COMMENTS", bodies[1:]),
            ("flac-picture", "PICTURE", self._contents(_PICTURE)),
        ):
            if contents:
                items = (TagItem(f"{key}:{at}", data) for at, data in enumerate(contents, 1))
                blocks.append(TagBlock(form, tuple(items)))
        return TagSet("flac", (*blocks, *self._outer_tags))

    def audio(self) -> Iterator[Piece]:
        """Yield the description of the stream and the frames."""
        yield self._metadata[0][1]
        yield ByteSpan(self._frames, self._end - self._frames)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with other Vorbis comments."""
        comments = tags.block("vorbis")
        blocks = self._metadata_with(encode_comments(comments) if comments else None)
        return [
            ByteSpan(0, self._start),
            *_with_headers(blocks, self._frames - self._start),
            ByteSpan(self._frames, self._source.size - self._frames),
        ]

    def _contents(self, kind: int) -> list[bytes]:
        spans = (span for block_type, span in self._metadata if block_type == kind)
        return [self._source.read(span.start, span.size) for span in spans]

    def _metadata_with(self, comments: bytes | None) -> list[tuple[int, Piece]]:
        blocks: list[tuple[int, Piece]] = [b for b in self._metadata if b[0] != _PADDING]
        index = next((at for at, (kind, _) in enumerate(blocks) if kind == _COMMENTS), 0)
        if index:
            del blocks[index]
        if comments is not None:
            blocks.insert(index or 1, (_COMMENTS, comments))
        return blocks


def _metadata(source: OpenFile, at: int) -> Iterator[tuple[int, ByteSpan]]:
    last = False
    while not last:
        header = source.read(at, _BLOCK_HEADER)
        last, kind = bool(header[0] & _LAST_BLOCK), header[0] & ~_LAST_BLOCK
        size = int.from_bytes(header[1:], "big")
        at += _BLOCK_HEADER
        if kind == _INVALID or at + size > source.size:
            raise source.damaged("a metadata block is longer than the file")
        yield kind, ByteSpan(at, size)
        at += size


def _with_headers(blocks: list[tuple[int, Piece]], room: int) -> Iterator[Piece]:
    """Yield the blocks with headers and padding; they fill `room` bytes unless they are longer."""
    sizes = [piece_size(content) for _, content in blocks]
    spare = room - sum(sizes) - _BLOCK_HEADER * len(sizes)
    if spare < 0 or 0 < spare < _BLOCK_HEADER:
        spare = _NEW_PADDING + _BLOCK_HEADER
    for number, ((kind, content), size) in enumerate(zip(blocks, sizes, strict=True), 1):
        if size > _MAX_BLOCK:
            raise AudioError(f"the tags are too long for FLAC ({size:,} bytes, {_MAX_BLOCK:,} fit)")
        last = _LAST_BLOCK if number == len(blocks) and not spare else 0
        yield bytes((kind | last,)) + size.to_bytes(3, "big")
        yield content
    if spare:
        size = min(spare - _BLOCK_HEADER, _MAX_BLOCK)
        yield bytes((_PADDING | _LAST_BLOCK,)) + size.to_bytes(3, "big") + bytes(size)


@dataclass(frozen=True, slots=True)
class OggPage:
    """One page of an Ogg file; `lacing` holds the sizes of the segments of its content."""

    start: int
    flags: int
    position: int
    serial: int
    number: int
    lacing: bytes

    @property
    def content(self) -> ByteSpan:
        """The content behind the header."""
        return ByteSpan(self.start + _PAGE_HEADER + len(self.lacing), sum(self.lacing))

    @property
    def end(self) -> int:
        """The offset of the next page."""
        return self.content.end


@dataclass(frozen=True, slots=True)
class RenumberedPages(ByteSpan):
    """A range of an Ogg file in which the page numbers of one stream are increased by `shift`.

    The new pages are computed while they are read, because a long file has millions. `marks` are
    sorted offsets of pages, the first one at or before the start.
    """

    serial: int
    shift: int
    marks: Sequence[int]

    def part(self, skipped: int, size: int) -> ByteSpan:
        """Return `size` bytes of the range, starting behind the `skipped` first bytes."""
        return replace(self, start=self.start + skipped, size=size)

    def chunks(self, source: OpenFile) -> Iterator[bytes]:
        """Yield the bytes, about a megabyte at a time; raise `AudioError`."""
        chunk = bytearray()
        for page in _pages_from(source, self.marks[bisect_right(self.marks, self.start) - 1]):
            if page.start >= self.end:
                break
            if page.end <= self.start:
                continue
            data = source.read(page.start, page.end - page.start)
            if page.serial == self.serial:
                content = data[page.content.start - page.start :]
                number = (page.number + self.shift) % (1 << 32)
                data = _page_header(replace(page, number=number), content) + content
            chunk += data[max(0, self.start - page.start) : self.end - page.start]
            if len(chunk) >= _MARK_DISTANCE:
                yield bytes(chunk)
                chunk.clear()
        yield bytes(chunk)


@dataclass(frozen=True, slots=True)
class OggCodec:
    """The prefixes of a codec's first packet and of its comments, and its number of headers.

    `framed` comments end with a framing byte, which padding may follow.
    """

    name: str
    first: bytes
    comments: bytes
    headers: int
    framed: bool = False


_CODECS = (
    OggCodec("ogg", b"\x01vorbis", b"\x03vorbis", 3, framed=True),
    OggCodec("opus", b"OpusHead", b"OpusTags", 2),
)


class OggLayout:
    """An Ogg file that begins with Vorbis or Opus; other streams may follow behind the headers."""

    written_forms = ("vorbis",)

    def __init__(self, source: OpenFile) -> None:
        self._source = source
        page = next(_pages_from(source, 0), None)
        self._first = source.read(page.content.start, page.content.size) if page else b""
        codec = next((c for c in _CODECS if self._first.startswith(c.first)), None)
        if page is None or codec is None:
            raise source.damaged("it does not begin with Vorbis or Opus")
        self._codec = codec
        # The pages from the comments to the last header, and the packets on them.
        self._pages, self._packets = _header_packets(source, page, codec)
        body, prefix = self._packets[0], codec.comments
        parsed = read_comments(body[len(prefix) :]) if body.startswith(prefix) else None
        if parsed is None:
            raise source.damaged("its second packet has no comments")
        self._comments, self._trailing = parsed  # the bytes behind the comments in their packet
        self.tags = TagSet(self._codec.name, (self._comments,))

    def audio(self) -> Iterator[Piece]:
        """Yield the headers without the comments, then the content of all pages.

        A page's number and checksum are yielded only if wrong, because players skip such a page.
        """
        for packet in (self._first, *self._packets[1:]):
            yield len(packet).to_bytes(8, "big")
            yield packet
        headers = range(self._pages[0].start, self._pages[-1].end)
        last: dict[int, int] = {}  # number of the previous page, by stream
        end = 0
        for page in _pages_from(self._source, 0):
            end = page.end
            if page.start in headers:
                last[page.serial] = self._pages[0].number + len(self._pages) - 1
                continue
            expected = page.number
            if not page.flags & _FIRST_PAGE and page.serial in last:
                expected = last[page.serial] + 1
            last[page.serial] = page.number
            yield repr((page.flags, page.position, page.serial)).encode() + page.lacing
            if skipped := (page.number - expected) % (1 << 32):
                yield f"{skipped} pages are missing".encode()
            if not _has_checksum(self._source, page):
                yield b"the checksum is wrong"
            yield page.content
        yield ByteSpan(end, self._source.size - end)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Yield the file with other comments."""
        comments = tags.block("vorbis")
        if comments is None:
            raise AudioError("an Ogg file without Vorbis comments cannot be written")
        packets = [self._comment_packet(comments), *self._packets[1:]]
        for page in self._pages:
            self._require_checksum(page)
        first, last = self._pages[0], self._pages[-1]
        pages = list(_paginated(packets, first.serial, first.number, count=len(self._pages)))
        yield ByteSpan(0, first.start)
        yield b"".join(pages)
        if shift := len(pages) - len(self._pages):
            yield from self._renumbered(last.end, shift)
        else:
            yield ByteSpan(last.end, self._source.size - last.end)

    def _comment_packet(self, block: TagBlock) -> bytes:
        """Return the packet of the comments, of the same size if its padding allows that."""
        body = encode_comments(block)
        trailing = self._trailing
        framing, padding = (trailing[:1], trailing[1:]) if self._codec.framed else (b"", trailing)
        if not padding.strip(b"\0"):
            old_size = len(encode_comments(self._comments)) + len(padding)
            trailing = framing + bytes(max(0, old_size - len(body)) if padding else 0)
        return self._codec.comments + body + trailing

    def _renumbered(self, start: int, shift: int) -> Iterator[Piece]:
        """Yield the pages from `start`, with new numbers up to the end of the stream."""
        serial, end, stream_end, continues = self._pages[0].serial, start, start, True
        marks = array("q", [start])
        for page in _pages_from(self._source, start):
            end = page.end
            is_of_stream = page.serial == serial
            continues = continues and not (is_of_stream and page.flags & _FIRST_PAGE)
            if continues:
                stream_end = end
                if is_of_stream:
                    self._require_checksum(page)
                if page.start - marks[-1] >= _MARK_DISTANCE:
                    marks.append(page.start)
        if end < self._source.size:
            raise self._source.damaged("the bytes behind its last page are not a page")
        spans = (
            RenumberedPages(start, stream_end - start, serial, shift, marks),
            ByteSpan(stream_end, end - stream_end),
        )
        yield from (span for span in spans if span.size)

    def _require_checksum(self, page: OggPage) -> None:
        if not _has_checksum(self._source, page):
            raise self._source.damaged(f"the checksum of its page at byte {page.start:,} is wrong")


def _header_packets(
    source: OpenFile, beginning: OggPage, codec: OggCodec
) -> tuple[tuple[OggPage, ...], tuple[bytes, ...]]:
    """Return the pages from the comments to the last header, and the packets on them."""
    pages, packets, open_packet = list[OggPage](), list[bytes](), bytearray()
    for page in _pages_from(source, beginning.end):
        if page.serial != beginning.serial or len(pages) == _MAX_HEADER_PAGES:
            break
        pages.append(page)
        content = source.read(page.content.start, page.content.size)
        at = 0
        for lace in page.lacing:
            open_packet += content[at : at + lace]
            at += lace
            if lace < _FULL_SEGMENT:
                packets.append(bytes(open_packet))
                open_packet.clear()
        if len(packets) >= codec.headers - 1 and page.lacing and not open_packet:
            return tuple(pages), tuple(packets)
    raise source.damaged("its headers do not end, or are mixed with those of another stream")


def _has_checksum(source: OpenFile, page: OggPage) -> bool:
    """Tell whether the checksum of a page is correct; players skip pages with a wrong one."""
    data = source.read(page.start, page.end - page.start)
    return data.startswith(_page_header(page, data[page.content.start - page.start :]))


def _pages_from(source: OpenFile, start: int) -> Iterator[OggPage]:
    """Yield the adjacent pages from `start`, up to the first invalid or incomplete one."""
    while start + _PAGE_HEADER <= source.size:
        magic, version, flags, position, serial, number, _, count = struct.unpack(
            "<4sBBQIIIB", source.read(start, _PAGE_HEADER)
        )
        if magic != OGG_MAGIC or version or start + _PAGE_HEADER + count > source.size:
            return
        lacing = source.read(start + _PAGE_HEADER, count)
        page = OggPage(start, flags, position, serial, number, lacing)
        if page.end > source.size:
            return
        yield page
        start = page.end


def _paginated(packets: list[bytes], serial: int, number: int, *, count: int) -> Iterator[bytes]:
    """Yield pages, numbered from `number`, that hold the packets; `count` of them if possible."""
    lacing = b"".join(_laced(packet) for packet in packets)
    content = b"".join(packets)
    needed = -(-len(lacing) // _MAX_SEGMENTS)
    count = min(max(count, needed), len(lacing))
    at, start, continued = 0, 0, False
    for remaining in range(count - 1, -1, -1):
        segments = lacing[at : at + min(_MAX_SEGMENTS, len(lacing) - at - remaining)]
        size = sum(segments)
        position = 0 if min(segments) < _FULL_SEGMENT else _NO_PACKET_ENDS
        page = OggPage(0, _CONTINUED if continued else 0, position, serial, number, segments)
        body = content[start : start + size]
        yield _page_header(page, body) + body
        at, start, number = at + len(segments), start + size, number + 1
        continued = segments[-1] == _FULL_SEGMENT


def _laced(packet: bytes) -> bytes:
    full, last = divmod(len(packet), _FULL_SEGMENT)
    return bytes((_FULL_SEGMENT,)) * full + bytes((last,))


def _page_header(page: OggPage, content: bytes) -> bytes:
    fields = (page.flags, page.position, page.serial, page.number)

    def header(checksum: int) -> bytes:
        return struct.pack("<4sBBQIIIB", OGG_MAGIC, 0, *fields, checksum, len(page.lacing))

    return header(_crc32(header(0) + page.lacing + content)) + page.lacing


def _crc32(data: bytes) -> int:
    """Return Ogg's CRC-32, which is zlib's over mirrored bits and without its inversions."""
    mirrored = zlib.crc32(data.translate(_MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)
