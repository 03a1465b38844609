"""FLAC and Ogg files (Vorbis, Opus, Speex, FLAC in Ogg), whose tags are Vorbis comments.

In a FLAC file they stand in one of the metadata blocks before the audio, in an Ogg file in the
second packet of the stream.

Formats: Vorbis I specification, sections 4.2 and 5; RFC 9639, sections 8 and 10.1; RFC 7845,
section 5; RFC 3533
"""

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chart_binder.audio.containers.id3 import find_id3
from chart_binder.audio.containers.mp3 import Tail, tail_of
from chart_binder.audio.file_access import Piece, Source, Span
from chart_binder.audio.tagset import Block, Item, TagSet
from chart_binder.errors import AudioError

NEW_HEAD = b"chart-binder"
"""The vendor of comments that this program was the first to write."""


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments, and what stands behind them in the same packet."""

    block: Block
    rest: bytes


def read_comments(body: bytes) -> Comments | None:
    """Return the comments at the beginning of `body`, or nothing if that is not what it is."""
    vendor = _counted(body, 0)
    if vendor is None or len(body) < len(vendor) + 8:
        return None
    at = 4 + len(vendor)
    (count,) = struct.unpack("<I", body[at : at + 4])
    at += 4
    items = []
    for _ in range(count):
        comment = _counted(body, at)
        if comment is None:
            return None
        key, sign, _ = comment.partition(b"=")
        items.append(Item(key.decode("latin-1") if sign else "", comment))
        at += 4 + len(comment)
    return Comments(Block("vorbis", tuple(items), vendor), body[at:])


def written_comments(block: Block) -> bytes:
    """Return the comments as they stand in a packet or metadata block."""
    parts = [_with_length(block.head), struct.pack("<I", len(block.items))]
    parts += [_with_length(item.data) for item in block.items]
    return b"".join(parts)


def texts_of(item: Item) -> tuple[str, ...] | None:
    """Return the text of a comment."""
    return (item.data.partition(b"=")[2].decode("utf-8", "replace"),) if item.key else None


def text_items(key: str, texts: tuple[str, ...]) -> tuple[Item, ...]:
    """Return a comment for each text."""
    return tuple(Item(key, f"{key}={text}".encode()) for text in texts)


def _counted(body: bytes, at: int) -> bytes | None:
    if at + 4 > len(body):
        return None
    end = at + 4 + int.from_bytes(body[at : at + 4], "little")
    return body[at + 4 : end] if end <= len(body) else None


def _with_length(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


FLAC_MAGIC = b"fLaC"
PADDING = 4096
"""Room left behind metadata that had to grow."""

_STREAMINFO, _PADDING, _COMMENTS, _PICTURE, _INVALID = 0, 1, 4, 6, 127
_HEADER, _LAST, _MOST = 4, 0x80, (1 << 24) - 1


@dataclass(frozen=True, slots=True)
class Metadata:
    """One metadata block: what kind, where its content stands."""

    kind: int
    content: Span


@dataclass(frozen=True, slots=True)
class FLAC:
    """The metadata blocks, with the audio behind them."""

    source: Source
    start: int
    metadata: tuple[Metadata, ...]
    tail: Tail

    @classmethod
    def of(cls, source: Source) -> "FLAC":
        """Take a FLAC file apart; an ID3 tag around it is left alone."""
        leading = find_id3(source, 0)
        start = leading.size if leading else 0
        metadata = tuple(_metadata(source, start + len(FLAC_MAGIC)))
        if metadata[0].kind != _STREAMINFO:
            raise source.damaged("its first metadata block does not describe the stream")
        sound = metadata[-1].content.start + metadata[-1].content.size
        return cls(source, start, metadata, tail_of(source, sound))

    @property
    def tags(self) -> TagSet:
        """The comments, the pictures, and what stands behind the audio."""
        blocks = []
        if body := self._content(_COMMENTS):
            comments = read_comments(body[0])
            if comments is None or comments.rest.strip(b"\0"):
                raise self.source.damaged("its Vorbis comments do not fit their block")
            blocks.append(comments.block)
        if pictures := self._content(_PICTURE):
            items = tuple(Item(f"PICTURE:{at}", data) for at, data in enumerate(pictures, 1))
            blocks.append(Block("flac-picture", items))
        return TagSet("flac", (*blocks, *self.tail.blocks))

    def audio(self) -> Iterator[Piece]:
        """Yield the stream's description and the frames."""
        yield self.metadata[0].content
        yield Span(self._sound, self.tail.start - self._sound)

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the file with other Vorbis comments."""
        wanted = list(blocks)
        comments = next((block for block in wanted if block.form == "vorbis"), None)
        others = [block for block in self.tags.blocks if block.form != "vorbis"]
        if others != [block for block in wanted if block.form != "vorbis"]:
            raise AudioError("of a FLAC file only the Vorbis comments are written")
        kept = self._kept(written_comments(comments) if comments else None)
        return [
            Span(0, self.start + len(FLAC_MAGIC)),
            *_with_headers(kept, self._sound - self.start - len(FLAC_MAGIC)),
            Span(self._sound, self.source.size - self._sound),
        ]

    @property
    def _sound(self) -> int:
        last = self.metadata[-1].content
        return last.start + last.size

    def _content(self, kind: int) -> list[bytes]:
        return [
            self.source.at(each.content.start, each.content.size)
            for each in self.metadata
            if each.kind == kind
        ]

    def _kept(self, comments: bytes | None) -> list[tuple[int, Piece]]:
        """Return the blocks in their order, those of room left out, the comments put in."""
        kept: list[tuple[int, Piece]] = []
        for each in self.metadata:
            if each.kind == _COMMENTS and comments is not None:
                kept.append((_COMMENTS, comments))
                comments = None
            elif each.kind not in (_PADDING, _COMMENTS):
                kept.append((each.kind, each.content))
        if comments is not None:
            kept.insert(1, (_COMMENTS, comments))
        return kept


def _metadata(source: Source, at: int) -> Iterator[Metadata]:
    last = False
    while not last:
        header = source.at(at, _HEADER)
        last, kind = bool(header[0] & _LAST), header[0] & ~_LAST
        size = int.from_bytes(header[1:], "big")
        at += _HEADER
        if kind == _INVALID or at + size > source.size:
            raise source.damaged("a metadata block is longer than the file")
        yield Metadata(kind, Span(at, size))
        at += size


def _with_headers(blocks: list[tuple[int, Piece]], room: int) -> Iterator[Piece]:
    """Yield the blocks with their headers, padded so that they fill the room where they fit."""
    sizes = [len(each) if isinstance(each, bytes) else each.size for _, each in blocks]
    left = room - sum(sizes) - _HEADER * len(sizes)
    if left < 0 or 0 < left < _HEADER:
        left = PADDING + _HEADER
    for at, ((kind, content), size) in enumerate(zip(blocks, sizes, strict=True), 1):
        if size > _MOST:
            raise AudioError(f"the tags are too long for FLAC ({size:,} bytes, {_MOST:,} fit)")
        last = _LAST if at == len(blocks) and not left else 0
        yield bytes((kind | last,)) + size.to_bytes(3, "big")
        yield content
    if left:
        size = min(left - _HEADER, _MOST)
        yield bytes((_PADDING | _LAST,)) + size.to_bytes(3, "big") + bytes(size)


OGG_MAGIC = b"OggS"
PAGE_HEADER = 27
CONTINUED, FIRST, LAST = 1, 2, 4
NO_PACKET_ENDS = (1 << 64) - 1
"""The position of a page on which no packet ends."""

_FULL = 255
_MOST_SEGMENTS = 255
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


@dataclass(frozen=True, slots=True)
class Page:
    """One page: where it stands, what its header says, how its content is cut into segments."""

    start: int
    flags: int
    position: int
    serial: int
    number: int
    lacing: bytes

    @property
    def content(self) -> int:
        """Where its content begins."""
        return self.start + PAGE_HEADER + len(self.lacing)

    @property
    def end(self) -> int:
        """Where the next page begins."""
        return self.content + sum(self.lacing)

    @property
    def ends_a_packet(self) -> bool:
        """Whether its last packet is whole: the next page begins a new one."""
        return bool(self.lacing) and self.lacing[-1] < _FULL


def page_at(source: Source, start: int) -> Page | None:
    """Return the page that begins here, or nothing if none does or it is cut short."""
    if start + PAGE_HEADER > source.size:
        return None
    magic, version, flags, position, serial, number, _, count = struct.unpack(
        "<4sBBQIIIB", source.at(start, PAGE_HEADER)
    )
    if magic != OGG_MAGIC or version or start + PAGE_HEADER + count > source.size:
        return None
    lacing = source.at(start + PAGE_HEADER, count)
    page = Page(start, flags, position, serial, number, lacing)
    return page if page.end <= source.size else None


def pages_from(source: Source, start: int) -> Iterator[Page]:
    """Yield the pages that stand one behind the other."""
    while page := page_at(source, start):
        yield page
        start = page.end


def packets_on(page: Page, content: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield the parts of packets on a page, with whether the packet ends there."""
    at, size = 0, 0
    for lace in page.lacing:
        size += lace
        if lace < _FULL:
            yield content[at : at + size], True
            at, size = at + size, 0
    if size:
        yield content[at : at + size], False


def written_page(page: Page, content: bytes) -> bytes:
    """Return the page as it stands in a file, with its checksum."""
    fields = (page.flags, page.position, page.serial, page.number)

    def header(checksum: int) -> bytes:
        return struct.pack("<4sBBQIIIB", OGG_MAGIC, 0, *fields, checksum, len(page.lacing))

    checksum = _checksum(header(0) + page.lacing + content)
    return header(checksum) + page.lacing + content


def paginated(packets: list[bytes], serial: int, number: int, *, pages: int) -> Iterator[bytes]:
    """Yield pages that hold these packets, starting with `number`; `pages` of them if that can be.

    The first packet begins the first page, the last one ends the last. The position of a page on
    which a header ends is 0.
    """
    lacing = b"".join(_laced(packet) for packet in packets)
    content = b"".join(packets)
    needed = -(-len(lacing) // _MOST_SEGMENTS)
    pages = min(max(pages, needed), len(lacing))
    at, done, continued = 0, 0, False
    for left in range(pages - 1, -1, -1):
        taken = lacing[at : at + min(_MOST_SEGMENTS, len(lacing) - at - left)]
        size = sum(taken)
        position = 0 if min(taken) < _FULL else NO_PACKET_ENDS
        page = Page(0, CONTINUED if continued else 0, position, serial, number, taken)
        yield written_page(page, content[done : done + size])
        at, done, number = at + len(taken), done + size, number + 1
        continued = taken[-1] == _FULL


def _laced(packet: bytes) -> bytes:
    full, rest = divmod(len(packet), _FULL)
    return bytes((_FULL,)) * full + bytes((rest,))


def _checksum(data: bytes) -> int:
    """Return Ogg's CRC-32: zlib's polynomial over mirrored bits, without its inversions."""
    mirrored = zlib.crc32(data.translate(_MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)


_MOST_HEADER_PAGES = 1 << 14
_MOST_FLAC_HEADER = (1 << 24) - 1
_FLAC_COMMENTS = 4
_FLAC_HEADER = 4


@dataclass(frozen=True, slots=True)
class Codec:
    """How a codec begins its first packet and its comments, and how many headers it has."""

    name: str
    first: bytes
    comments: bytes
    headers: int
    framed: bool = False


_CODECS = (
    Codec("ogg", b"\x01vorbis", b"\x03vorbis", 3, framed=True),
    Codec("opus", b"OpusHead", b"OpusTags", 2),
    Codec("spx", b"Speex   ", b"", 2),
    Codec("oga", b"\x7fFLAC", b"", 2),
)


@dataclass(frozen=True, slots=True)
class Ogg:
    """The pages that hold the headers of the audio, and the packets on them.

    `pages` are those from the comments to the last header; `packets` are whole, the comments first.
    """

    source: Source
    codec: Codec
    first: bytes
    pages: tuple[Page, ...]
    packets: tuple[bytes, ...]
    comments: Comments

    @classmethod
    def of(cls, source: Source) -> "Ogg":
        """Take an Ogg file apart; its first audio stream counts."""
        page, codec, first = _beginning(source)
        pages, packets = _headers(source, page, codec)
        body = packets[0]
        start = _FLAC_HEADER if codec.name == "oga" else len(codec.comments)
        known = not codec.comments or body.startswith(codec.comments)
        if codec.name == "oga" and (body[:1] or b"\xff")[0] & 0x7F != _FLAC_COMMENTS:
            known = False
        comments = read_comments(body[start:]) if known else None
        if comments is None:
            raise source.damaged("it has no comments where they should stand")
        return cls(source, codec, first, pages, packets, comments)

    @property
    def tags(self) -> TagSet:
        """The comments."""
        return TagSet(self.codec.name, (self.comments.block,))

    def audio(self) -> Iterator[Piece]:
        """Yield the headers without the comments, then all pages, but for number and checksum."""
        for packet in (self.first, *self.packets[1:]):
            yield len(packet).to_bytes(8, "big")
            yield packet
        skipped = {page.start for page in self.pages}
        end = 0
        for page in pages_from(self.source, 0):
            end = page.end
            if page.start not in skipped:
                yield repr((page.flags, page.position, page.serial)).encode() + page.lacing
                yield Span(page.content, page.end - page.content)
        yield Span(end, self.source.size - end)

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Yield the file with other comments."""
        wanted = list(blocks)
        if [block.form for block in wanted] != ["vorbis"]:
            raise AudioError("an Ogg file has Vorbis comments, no other tag")
        packets = [self._comments(wanted[0]), *self.packets[1:]]
        first, last = self.pages[0], self.pages[-1]
        ours = list(paginated(packets, first.serial, first.number, pages=len(self.pages)))
        shift = len(ours) - len(self.pages)
        yield Span(0, first.start)
        yield b"".join(ours)
        known = {page.start for page in self.pages}
        for page in pages_from(self.source, first.start):
            if page.start >= last.end:
                break
            if page.start not in known:  # of another stream, in between
                yield Span(page.start, page.end - page.start)
        yield from self._renumbered(last.end, shift) if shift else self._rest(last.end)

    def _comments(self, block: Block) -> bytes:
        """Return the packet of the comments, as long as it was where room was left for it."""
        body = written_comments(block)
        rest = self.comments.rest
        mark, room = (rest[:1], rest[1:]) if self.codec.framed else (b"", rest)
        if not room.strip(b"\0"):
            old = len(written_comments(self.comments.block)) + len(room)
            rest = mark + bytes(max(0, old - len(body)) if room else 0)
        if self.codec.name != "oga":
            return self.codec.comments + body + rest
        if len(body) > _MOST_FLAC_HEADER:
            raise AudioError(f"the tags are too long for FLAC ({len(body):,} bytes)")
        return self.packets[0][:1] + len(body + rest).to_bytes(3, "big") + body + rest

    def _rest(self, start: int) -> Iterator[Piece]:
        yield Span(start, self.source.size - start)

    def _renumbered(self, start: int, shift: int) -> Iterator[Piece]:
        """Yield the pages that follow, their numbers shifted up to where the stream ends."""
        serial, end, ours = self.pages[0].serial, start, True
        for page in pages_from(self.source, start):
            ours = ours and not (page.serial == serial and page.flags & FIRST)
            if ours and page.serial == serial:
                content = self.source.at(page.content, page.end - page.content)
                number = (page.number + shift) % (1 << 32)
                yield written_page(_with_number(page, number), content)
            else:
                yield Span(page.start, page.end - page.start)
            end = page.end
        if end < self.source.size:
            raise self.source.damaged("what stands behind its last page is no page")


def _with_number(page: Page, number: int) -> Page:
    return Page(page.start, page.flags, page.position, page.serial, number, page.lacing)


def _beginning(source: Source) -> tuple[Page, Codec, bytes]:
    """Return the page on which the audio stream begins, its codec, and its first packet."""
    for page in pages_from(source, 0):
        if not page.flags & FIRST:
            break
        packet = source.at(page.content, page.end - page.content)
        for codec in _CODECS:
            if packet.startswith(codec.first):
                return page, codec, packet
    raise source.damaged("none of its streams is Vorbis, Opus, Speex or FLAC")


def _headers(
    source: Source, beginning: Page, codec: Codec
) -> tuple[tuple[Page, ...], tuple[bytes, ...]]:
    """Return the pages from the comments to the last header, with the packets on them.

    They end where a packet ends with its page: only there can other pages take their place.
    """
    pages, packets, open_packet = list[Page](), list[bytes](), b""
    at = beginning.end
    while len(pages) < _MOST_HEADER_PAGES and (page := page_at(source, at)):
        at = page.end
        if page.serial != beginning.serial:
            continue
        pages.append(page)
        for part, ended in packets_on(page, source.at(page.content, page.end - page.content)):
            open_packet += part
            if ended:
                packets.append(open_packet)
                open_packet = b""
        if len(packets) >= codec.headers - 1 and page.ends_a_packet:
            return tuple(pages), tuple(packets)
    raise source.damaged("its headers do not end")
