"""Bytes from the open web, and their text.

A connection is made to the very address that was checked and ends by a deadline. A body is unpacked
in bounded pieces. We detect character sets ourselves, because `charset-normalizer` fails for pages
that this code reads correctly.
"""

import codecs
import queue
import re
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final, TypeAlias

import httpcore
import httpx

from chart_binder.errors import AddressForbiddenError, UnknownHostError
from chart_binder.net import Deadline, TimedStream, no_authorities, trusted_authorities
from chart_binder.web.guard import Address, parse_address

Resolve: TypeAlias = Callable[[str, int], Sequence[Address]]
Admit: TypeAlias = Callable[[str, Sequence[Address]], None]

_MOST_ADDRESSES_TRIED = 4


def open_client(
    admit: Admit,
    deadline: Deadline,
    resolve: Resolve,
    scheme: str,
    trust: ssl.SSLContext | None = None,
) -> httpx.Client:
    """Return a client for requests to addresses of one scheme.

    For every connection, `resolve` returns the addresses of the host, `admit` raises to refuse
    them, and the connection is made to one of them. At the deadline all waiting ends with
    `httpx.TimeoutException`. No proxy is used, because a proxy would hide the address. `trust`
    replaces the system's certificate authorities, which are read for https only. Raises
    `ConfigError` if they cannot be read.
    """
    is_encrypted = scheme == "https"
    authorities = (trust or trusted_authorities()) if is_encrypted else no_authorities()
    return httpx.Client(
        transport=_PinnedTransport(_PinnedBackend(admit, deadline, resolve), authorities),
        timeout=None,  # noqa: S113 - the deadline holds for every single read, write and connect
        trust_env=False,
    )


def resolve_by_system(host: str, port: int) -> tuple[Address, ...]:
    """Ask the system's resolver; raises `UnknownHostError` if it does not know the host."""
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnknownHostError(f"there is no host called {host!r}") from error
    return tuple(dict.fromkeys(ip_address(entry[4][0]) for entry in entries))


class _PinnedTransport(httpx.HTTPTransport):
    def __init__(self, backend: httpcore.NetworkBackend, trust: ssl.SSLContext) -> None:
        super().__init__(verify=trust, trust_env=False)
        # httpx has no argument for a network backend. Connections are not reused, so that each
        # redirect is resolved and checked again.
        self._pool = httpcore.ConnectionPool(
            ssl_context=trust, network_backend=backend, max_keepalive_connections=0
        )


class _PinnedBackend(httpcore.NetworkBackend):
    def __init__(self, admit: Admit, deadline: Deadline, resolve: Resolve) -> None:
        self._admit = admit
        self._deadline = deadline
        self._resolve = resolve
        self._system = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline's share counts
        local_address: str | None = None,  # noqa: ARG002 - httpx was given none
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002 - httpx was given none
    ) -> httpcore.NetworkStream:
        addresses = self._addresses(host, port)
        self._admit(host, addresses)
        stream = self._connect(addresses[:_MOST_ADDRESSES_TRIED], port)
        peer = ip_address(stream.get_extra_info("server_addr")[0])
        if peer not in addresses:
            stream.close()
            raise AddressForbiddenError(
                f"{host} cannot be fetched: another machine answered for it"
            )
        return TimedStream(stream, self._deadline)

    def _addresses(self, host: str, port: int) -> Sequence[Address]:
        """Resolve a host in a separate thread, because the system's resolver has no deadline."""
        literal = parse_address(host)
        if literal is not None:
            return (literal,)
        answer: queue.SimpleQueue[Sequence[Address] | UnknownHostError] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answer.put(self._resolve(host, port))
            except UnknownHostError as error:
                answer.put(error)

        threading.Thread(target=ask, name=f"resolve {host}", daemon=True).start()
        try:
            addresses = answer.get(timeout=self._deadline.left_s)
        except queue.Empty:
            raise httpcore.ConnectTimeout(f"{host} was not resolved in time") from None
        if isinstance(addresses, UnknownHostError):
            raise addresses
        return addresses

    def _connect(self, addresses: Sequence[Address], port: int) -> httpcore.NetworkStream:
        failure: Exception = httpcore.ConnectError("no address")
        for index, address in enumerate(addresses):
            share_s = self._deadline.left_s / (len(addresses) - index)
            try:
                # With a timeout of 0 the socket would not wait at all.
                return self._system.connect_tcp(str(address), port, max(share_s, 0.001))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


ACCEPTED_ENCODINGS = "gzip, deflate"
"""Without br and zstd, because only the newest libraries for them limit what they unpack."""
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_FRAMES: Final[dict[str, tuple[int, ...]]] = {
    "": (), "identity": (), "gzip": (_GZIP,), "x-gzip": (_GZIP,), "deflate": (_ZLIB, _RAW),
}  # fmt: skip
"""By content encoding, the formats of zlib that it may mean. Deflate has a zlib header, but some
servers omit it."""


@dataclass(frozen=True, slots=True)
class Body:
    """The unpacked bytes; `cut` means that there was more or that the server interrupted it."""

    data: bytes
    cut: bool


def read_body(response: httpx.Response, max_bytes: int) -> Body:
    """Read at most `max_bytes` unpacked bytes of a streamed response.

    Raises `httpx.HTTPError`: if the bytes cannot be unpacked, its subclass `httpx.DecodingError`.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in _FRAMES:
        raise httpx.DecodingError(f"content encoding {encoding[:40]!r}", request=response.request)
    inflater = _Inflater(*_FRAMES[encoding]) if _FRAMES[encoding] else None
    data = bytearray()
    arrived = 0
    for chunk in response.iter_raw():
        arrived += len(chunk)
        for piece in inflater.pieces(chunk) if inflater else (chunk,):
            data += piece
            if len(data) > max_bytes:
                return Body(bytes(data[:max_bytes]), cut=True)
        if arrived > max_bytes:
            return Body(bytes(data), cut=True)
    return Body(bytes(data), cut=inflater is not None and inflater.is_unfinished)


class _Inflater:
    """Unpacks gzip, also with several members, or deflate in pieces of bounded size."""

    _PIECE = 65_536

    def __init__(self, frame: int, fallback: int | None = None) -> None:
        self.is_unfinished = False  # a member has begun and not ended
        self._frame = frame
        self._fallback = fallback
        self._stream = zlib.decompressobj(frame)
        self._members = 0

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while True:
            piece = self._unpacked(chunk)
            if piece is None:
                return
            yield piece
            chunk = self._stream.unconsumed_tail
            if self._stream.eof:
                chunk = self._stream.unused_data
                self._stream = zlib.decompressobj(self._frame)
                self._members += 1
                self.is_unfinished = False
                if not chunk:
                    return
            elif not chunk and len(piece) < self._PIECE:
                return

    def _unpacked(self, chunk: bytes) -> bytes | None:
        """Return the next piece, or None after the end."""
        try:
            piece = self._stream.decompress(chunk, self._PIECE)
        except zlib.error as error:
            if self._members:
                return None  # some servers add padding after the last member
            if self._fallback is None:
                raise httpx.DecodingError("the packed body is broken") from error
            self._frame, self._fallback = self._fallback, None
            self._stream = zlib.decompressobj(self._frame)
            return self._unpacked(chunk)
        # Padding may follow a member; only data that unpacks to something is another member.
        self.is_unfinished = self.is_unfinished or bool(piece) or not self._members
        if piece:
            self._fallback = None
        return piece


_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The codecs that browsers use for labels (https://encoding.spec.whatwg.org/#names-and-labels). The
# last rows replace codecs of Python that lack letters of pages with that label.
_CODEC_OF_LABEL = {
    "x-sjis": "cp932", "windows-31j": "cp932", "x-euc-jp": "euc_jp",
    "cseucpkdfmtjapanese": "euc_jp", "x-gbk": "gb18030", "gb_2312-80": "gb18030",
    "csgb2312": "gb18030", "cn-big5": "big5", "x-x-big5": "big5", "windows-949": "cp949",
    "csksc56011987": "cp949", "windows-874": "cp874", "dos-874": "cp874", "x-cp1251": "cp1251",
    "x-cp1252": "cp1252", "koi": "koi8-r", "koi8-ru": "koi8-u", "mac": "mac-roman",
    "x-mac-roman": "mac-roman", "x-mac-cyrillic": "mac-cyrillic", "iso-8859-8-i": "iso8859-8",
    "iso-8859-6-i": "iso8859-6", "unicode-1-1-utf-8": "utf-8", "sun_eu_greek": "iso8859-7",
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030",
    "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "tis-620": "cp874",
    "iso8859-11": "cp874", "big5": "big5hkscs", "utf-16": "utf-16-le",
}  # fmt: skip
# Python has codecs that are not character sets of pages; some of them take quadratic time.
_CODEC_OF_PAGES = re.compile(
    r"utf-8|utf-16(-[lb]e)?|ascii|iso8859-\d+|iso2022_jp|cp\d+|koi8-[ru]|mac-\w+"
    r"|gb18030|gbk|gb2312|big5(hkscs)?|euc_(jp|kr)|shift_jis|tis-620"
)
_DECLARED_IN_PAGE = re.compile(
    rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]{2,40})""", re.IGNORECASE
)
_DECLARED_WITHIN = 2_048


def decode_text(data: bytes, declared: str | None) -> str:
    """Return the text of a page; undecodable bytes become U+FFFD.

    As in a browser, the character set is that of the byte order mark, of the server (`declared`),
    of the page's own declaration, or UTF-8 if it fits. Else it is guessed from the letters, with
    Windows-1252 as the last resort.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    codec = _codec(declared) or _codec(_declared_in(data))
    if codec is None:
        codec = _guess(data) if _beginning(data, "utf-8") is None else "utf-8"
    return data.decode(codec, "replace")


def _codec(label: str | None) -> str | None:
    try:
        label = label.strip().lower() if label else ""
        name = codecs.lookup(_CODEC_OF_LABEL.get(label, label)).name
    except (LookupError, ValueError):
        return None
    name = _CODEC_OF_LABEL.get(name, name)
    return name if _CODEC_OF_PAGES.fullmatch(name) else None


def _declared_in(data: bytes) -> str | None:
    match = _DECLARED_IN_PAGE.search(data, 0, _DECLARED_WITHIN)
    if match is None:
        return None
    label = match[1].decode("ascii", "replace").lower()
    # In UTF-16 this ASCII declaration could not have been read.
    return "utf-8" if label.startswith("utf-16") else label


def _beginning(data: bytes, codec: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(data, final=False)
    except UnicodeDecodeError:
        return None


_SAMPLE_BYTES: Final = 20_000  # bytes
# ASCII bytes may be halves of characters: only remove runs of them after a tag or a blank.
_MARKUP: Final = re.compile(rb"<[^>]*>|(?<=[>\s])[\x00-\x7f]{40,}")
_HIGH: Final = re.compile(rb"[\x80-\xff]")
_FEWEST_HIGH: Final = 12
"""The fewest bytes beyond ASCII from which the character set is guessed."""
_LEAST_HIGH: Final = 0.25
"""The least share of such bytes in the text; in Western languages it is at most a tenth."""


def _guess(data: bytes) -> str:
    """Return the first codec in which the text has enough common letters, else Windows-1252."""
    sample = _MARKUP.sub(b" ", data[:_SAMPLE_BYTES])
    high = len(_HIGH.findall(sample))
    if high < max(_FEWEST_HIGH, _LEAST_HIGH * len(sample)):
        return "cp1252"
    for codec, least, order, first, last in _COMMON_LETTERS:
        letters = [character for character in _beginning(sample, codec) or "" if character > "\x7f"]
        common = sum(first <= letter.encode(order, "ignore") <= last for letter in letters)
        if letters and common / len(letters) >= least:
            return codec
    return "cp1252"


_COMMON_LETTERS: Final = (
    ("euc_jp", 0.2, "utf-16-be", b"\x30\x41", b"\x30\xfc"),  # kana
    ("cp932", 0.2, "utf-16-be", b"\x30\x41", b"\x30\xfc"),
    ("cp949", 0.85, "utf-16-be", b"\xac\x00", b"\xd7\xa3"),  # syllables
    ("gb18030", 0.8, "gb2312", b"\xa1\xa1", b"\xd7\xf9"),  # signs, the 3,755 commonest characters
    ("big5hkscs", 0.8, "big5", b"\xa1\x40", b"\xc6\x7e"),  # signs, the 5,401 commonest
    ("cp1251", 0.7, "utf-16-be", b"\x04\x30", b"\x04\x5f"),  # small letters
    ("koi8-r", 0.7, "utf-16-be", b"\x04\x30", b"\x04\x5f"),
)
"""The codecs in the order of trial: Korean text may look Chinese, but not the reverse. A row has a
codec, the least share of common letters, and their range as bytes of a second codec."""
