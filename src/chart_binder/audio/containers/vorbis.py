"""FLAC and Ogg files (Vorbis, Opus), whose tags are Vorbis comments.

In a FLAC file they stand in one of the metadata blocks before the audio, in an Ogg file in the
second packet of the stream.

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
from chart_binder.audio.file_access import ByteSpan, OpenFile, Piece
from chart_binder.audio.tagset import TagBlock, TagItem, TagSet
from chart_binder.errors import AudioError

FLAC_MAGIC = b"fLaC"
OGG_MAGIC = b"OggS"

NEW_HEAD = b"chart-binder"
"""The vendor string of comments that this program was the first to write."""

_ROOM = 4096  # left behind FLAC metadata that had to grow

# FLAC metadata blocks: their types, the size of a header, the flag of the last one.
_STREAMINFO, _PADDING, _COMMENTS, _PICTURE, _INVALID = 0, 1, 4, 6, 127
_BLOCK_HEADER, _LAST_BLOCK, _MAX_BLOCK = 4, 0x80, (1 << 24) - 1

_PAGE_HEADER, _MAX_HEADER_PAGES = 27, 1 << 14
_CONTINUED, _FIRST_PAGE = 1, 2
_NO_PACKET_ENDS = (1 << 64) - 1  # the position of a page on which no packet ends
_FULL_SEGMENT, _MAX_SEGMENTS = 255, 255
_MARK_EVERY = 1 << 20
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def read_comments(body: bytes) -> tuple[TagBlock, bytes] | None:
    """Return the comments at the beginning of `body` and the rest; `None` if there are none."""
    vendor = _counted(body, 0)
    if vendor is None or len(body) < len(vendor) + 8:
        return None
    at = 8 + len(vendor)
    items = []
    for _ in range(int.from_bytes(body[at - 4 : at], "little")):
        comment = _counted(body, at)
        if comment is None:
            return None
        key, sign, _ = comment.partition(b"=")
        items.append(TagItem(key.decode("latin-1") if sign else "", comment))
        at += 4 + len(comment)
    return TagBlock("vorbis", tuple(items), vendor), body[at:]


def written_comments(block: TagBlock) -> bytes:
    """Return the comments as they stand in a packet or metadata block."""
    parts = [_with_length(block.head), struct.pack("<I", len(block.items))]
    return b"".join((*parts, *(_with_length(item.data) for item in block.items)))


def texts_of(item: TagItem) -> tuple[str, ...] | None:
    """Return the text of a comment."""
    return (item.data.partition(b"=")[2].decode("utf-8", "replace"),) if item.key else None


def text_items(key: str, texts: tuple[str, ...]) -> tuple[TagItem, ...]:
    """Return a comment for each text."""
    return tuple(TagItem(key, f"{key}={text}".encode()) for text in texts)


def _counted(body: bytes, at: int) -> bytes | None:
    start = at + 4
    end = start + int.from_bytes(body[at:start], "little")
    return body[start:end] if start <= len(body) and end <= len(body) else None


def _with_length(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


class FlacLayout:
    """A FLAC file; readers take the first block of comments, further ones are kept as they are."""

    written = ("vorbis",)

    def __init__(self, source: OpenFile) -> None:
        self._source = source
        leading, size = find_id3(source, 0)
        self._start = size + len(FLAC_MAGIC)
        self._metadata = tuple(_metadata(source, self._start))
        if self._metadata[0][0] != _STREAMINFO:
            raise source.damaged("its first metadata block does not describe the stream")
        self._frames = self._metadata[-1][1].end
        self._end, tail = find_tail(source, self._frames)
        self._outside = (*([leading] if leading else ()), *tail)

    @property
    def tags(self) -> TagSet:
        """The comments, the pictures, and the tags before and behind them."""
        blocks = []
        bodies = self._contents(_COMMENTS)
        if bodies:
            comments, rest = read_comments(bodies[0]) or (None, b"")
            if comments is None or rest.strip(b"\0"):
                raise self._source.damaged("its Vorbis comments do not fit their block")
            blocks.append(comments)
        for form, key, found in (
            ("flac-comments", "COMMENTS", bodies[1:]),
            ("flac-picture", "PICTURE", self._contents(_PICTURE)),
        ):
            if found:
                items = (TagItem(f"{key}:{at}", data) for at, data in enumerate(found, 1))
                blocks.append(TagBlock(form, tuple(items)))
        return TagSet("flac", (*blocks, *self._outside))

    def audio(self) -> Iterator[Piece]:
        """Yield the stream's description and the frames."""
        yield self._metadata[0][1]
        yield ByteSpan(self._frames, self._end - self._frames)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with other Vorbis comments."""
        comments = tags.block("vorbis")
        kept = self._kept(written_comments(comments) if comments else None)
        return [
            ByteSpan(0, self._start),
            *_with_headers(kept, self._frames - self._start),
            ByteSpan(self._frames, self._source.size - self._frames),
        ]

    def _contents(self, kind: int) -> list[bytes]:
        found = (content for each, content in self._metadata if each == kind)
        return [self._source.read(content.start, content.size) for content in found]

    def _kept(self, comments: bytes | None) -> list[tuple[int, Piece]]:
        kept: list[tuple[int, Piece]] = [each for each in self._metadata if each[0] != _PADDING]
        first = next((at for at, (kind, _) in enumerate(kept) if kind == _COMMENTS), 0)
        if first:
            del kept[first]
        if comments is not None:
            kept.insert(first or 1, (_COMMENTS, comments))
        return kept


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
    """Yield the blocks with their headers, padded so that they fill the room where they fit."""
    sizes = [len(each) if isinstance(each, bytes) else each.size for _, each in blocks]
    left = room - sum(sizes) - _BLOCK_HEADER * len(sizes)
    if left < 0 or 0 < left < _BLOCK_HEADER:
        left = _ROOM + _BLOCK_HEADER
    for at, ((kind, content), size) in enumerate(zip(blocks, sizes, strict=True), 1):
        if size > _MAX_BLOCK:
            raise AudioError(f"the tags are too long for FLAC ({size:,} bytes, {_MAX_BLOCK:,} fit)")
        last = _LAST_BLOCK if at == len(blocks) and not left else 0
        yield bytes((kind | last,)) + size.to_bytes(3, "big")
        yield content
    if left:
        size = min(left - _BLOCK_HEADER, _MAX_BLOCK)
        yield bytes((_PADDING | _LAST_BLOCK,)) + size.to_bytes(3, "big") + bytes(size)


@dataclass(frozen=True, slots=True)
class OggPage:
    """One page of an Ogg file; `lacing` says how its content is cut into segments."""

    start: int
    flags: int
    position: int
    serial: int
    number: int
    lacing: bytes

    @property
    def content(self) -> ByteSpan:
        """The content, behind the header."""
        return ByteSpan(self.start + _PAGE_HEADER + len(self.lacing), sum(self.lacing))

    @property
    def end(self) -> int:
        """Where the next page begins."""
        return self.content.end


@dataclass(frozen=True, slots=True)
class RenumberedPages(ByteSpan):
    """Pages of an Ogg file, of which those of one stream get other numbers, or a part of these.

    They are made as they are read, because a long file has millions. `marks` are, in order, places
    where pages begin, the first no later than the start.
    """

    serial: int
    shift: int
    marks: Sequence[int]

    def part(self, skipped: int, size: int) -> ByteSpan:
        """Return a part of it."""
        return replace(self, start=self.start + skipped, size=size)

    def chunks(self, source: OpenFile) -> Iterator[bytes]:
        """Yield the bytes, about a megabyte at a time; raise `AudioError`."""
        found = bytearray()
        for page in _pages_from(source, self.marks[bisect_right(self.marks, self.start) - 1]):
            if page.start >= self.end:
                break
            if page.end <= self.start:
                continue
            whole = source.read(page.start, page.end - page.start)
            if page.serial == self.serial:
                content = whole[page.content.start - page.start :]
                number = (page.number + self.shift) % (1 << 32)
                whole = _page_header(replace(page, number=number), content) + content
            found += whole[max(0, self.start - page.start) : self.end - page.start]
            if len(found) >= _MARK_EVERY:
                yield bytes(found)
                found.clear()
        yield bytes(found)


@dataclass(frozen=True, slots=True)
class OggCodec:
    """How a codec begins its first packet and its comments, and how many headers it has.

    `framed` comments end with a byte of their own, and may have padding behind it.
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
    """An Ogg file that begins with Vorbis or Opus; other streams may follow behind its headers."""

    written = ("vorbis",)

    def __init__(self, source: OpenFile) -> None:
        self._source = source
        page = next(_pages_from(source, 0), None)
        self._first = source.read(page.content.start, page.content.size) if page else b""
        codec = next((each for each in _CODECS if self._first.startswith(each.first)), None)
        if page is None or codec is None:
            raise source.damaged("it does not begin with Vorbis or Opus")
        self._codec = codec
        # The pages from the comments to the last header, and the whole packets on them.
        self._pages, self._packets = _header_packets(source, page, codec)
        body, mark = self._packets[0], codec.comments
        found = read_comments(body[len(mark) :]) if body.startswith(mark) else None
        if found is None:
            raise source.damaged("it has no comments where they should stand")
        self._comments, self._rest = found  # what stands behind the comments in their packet
        self.tags = TagSet(self._codec.name, (self._comments,))

    def audio(self) -> Iterator[Piece]:
        """Yield the headers without the comments, then all pages.

        Instead of its number and checksum, a page has what is wrong with them: players skip it.
        """
        for packet in (self._first, *self._packets[1:]):
            yield len(packet).to_bytes(8, "big")
            yield packet
        headers = range(self._pages[0].start, self._pages[-1].end)
        last: dict[int, int] = {}  # the number of the last page, by stream
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
            if not _has_checksum(self._source, page)[0]:
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
            _checked_content(self._source, page)
        first, last = self._pages[0], self._pages[-1]
        ours = list(_paginated(packets, first.serial, first.number, pages=len(self._pages)))
        yield ByteSpan(0, first.start)
        yield b"".join(ours)
        if shift := len(ours) - len(self._pages):
            yield from self._renumbered(last.end, shift)
        else:
            yield ByteSpan(last.end, self._source.size - last.end)

    def _comment_packet(self, block: TagBlock) -> bytes:
        """Return the packet of the comments, as long as it was where room was left for it."""
        body = written_comments(block)
        rest = self._rest
        mark, room = (rest[:1], rest[1:]) if self._codec.framed else (b"", rest)
        if not room.strip(b"\0"):
            old = len(written_comments(self._comments)) + len(room)
            rest = mark + bytes(max(0, old - len(body)) if room else 0)
        return self._codec.comments + body + rest

    def _renumbered(self, start: int, shift: int) -> Iterator[Piece]:
        """Yield the pages that follow, their numbers shifted up to where the stream ends."""
        serial, end, behind, goes_on = self._pages[0].serial, start, start, True
        marks = array("q", [start])
        for page in _pages_from(self._source, start):
            end = page.end
            is_ours = page.serial == serial
            goes_on = goes_on and not (is_ours and page.flags & _FIRST_PAGE)
            if goes_on:
                behind = end
                if is_ours:
                    _checked_content(self._source, page)
                if page.start - marks[-1] >= _MARK_EVERY:
                    marks.append(page.start)
        if end < self._source.size:
            raise self._source.damaged("what stands behind its last page is no page")
        spans = (
            RenumberedPages(start, behind - start, serial, shift, marks),
            ByteSpan(behind, end - behind),
        )
        yield from (span for span in spans if span.size)


def _header_packets(
    source: OpenFile, beginning: OggPage, codec: OggCodec
) -> tuple[tuple[OggPage, ...], tuple[bytes, ...]]:
    """Return the pages from the comments to the last header, which ends one, and their packets."""
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


def _checked_content(source: OpenFile, page: OggPage) -> bytes:
    """Return what is on a page; raise `AudioError` if the checksum is wrong: players skip it."""
    is_right, content = _has_checksum(source, page)
    if not is_right:
        raise source.damaged(f"the checksum of its page at byte {page.start:,} is wrong")
    return content


def _has_checksum(source: OpenFile, page: OggPage) -> tuple[bool, bytes]:
    """Say whether the checksum of a page is right, and return its content."""
    whole = source.read(page.start, page.end - page.start)
    content = whole[page.content.start - page.start :]
    return whole.startswith(_page_header(page, content)), content


def _pages_from(source: OpenFile, start: int) -> Iterator[OggPage]:
    """Yield the pages that stand one behind the other, up to what is no page or is cut short."""
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


def _paginated(packets: list[bytes], serial: int, number: int, *, pages: int) -> Iterator[bytes]:
    """Yield pages from `number` on that hold just these headers; `pages` of them if possible."""
    lacing = b"".join(_laced(packet) for packet in packets)
    content = b"".join(packets)
    needed = -(-len(lacing) // _MAX_SEGMENTS)
    pages = min(max(pages, needed), len(lacing))
    at, done, continued = 0, 0, False
    for left in range(pages - 1, -1, -1):
        taken = lacing[at : at + min(_MAX_SEGMENTS, len(lacing) - at - left)]
        size = sum(taken)
        position = 0 if min(taken) < _FULL_SEGMENT else _NO_PACKET_ENDS
        page = OggPage(0, _CONTINUED if continued else 0, position, serial, number, taken)
        body = content[done : done + size]
        yield _page_header(page, body) + body
        at, done, number = at + len(taken), done + size, number + 1
        continued = taken[-1] == _FULL_SEGMENT


def _laced(packet: bytes) -> bytes:
    full, rest = divmod(len(packet), _FULL_SEGMENT)
    return bytes((_FULL_SEGMENT,)) * full + bytes((rest,))


def _page_header(page: OggPage, content: bytes) -> bytes:
    fields = (page.flags, page.position, page.serial, page.number)

    def header(checksum: int) -> bytes:
        return struct.pack("<4sBBQIIIB", OGG_MAGIC, 0, *fields, checksum, len(page.lacing))

    return header(_crc32(header(0) + page.lacing + content)) + page.lacing


def _crc32(data: bytes) -> int:
    """Return Ogg's CRC-32: zlib's polynomial over mirrored bits, without its inversions."""
    mirrored = zlib.crc32(data.translate(_MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)
