"""What the other tags of a file say, for a new tag that would hide them.

Readers such as TagLib take all from the first tag that holds anything: from ID3v2 before an APE
tag, ID3v1 or the INFO chunk of a WAV, from Vorbis comments before ID3v2. Pictures are not taken
over.

Formats: https://id3.org/ID3v1; RIFF Multimedia Programming Interface and Data Specifications 1.0,
INFO list; EA IFF 85, text chunks
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from mutagen.id3 import TCON

from chart_binder.audio.containers import id3, mp3, riff
from chart_binder.audio.tagset import Block, Item, TagSet

Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one field: of a Vorbis comment, an ID3v2.4 frame, an APE item."""

    vorbis: str
    id3: str
    ape: str


NAMES: tuple[Names, ...] = (
    Names("GENRE", "TCON", "Genre"),
    Names("COMMENT", "COMM::eng", "Comment"),
    Names("COMPOSER", "TCOM", "Composer"),
    Names("LYRICIST", "TEXT", "Lyricist"),
    Names("CONDUCTOR", "TPE3", "Conductor"),
    Names("REMIXER", "TPE4", "MixArtist"),
    Names("COPYRIGHT", "TCOP", "Copyright"),
    Names("ISRC", "TSRC", "ISRC"),
    Names("LANGUAGE", "TLAN", "Language"),
    Names("BPM", "TBPM", "BPM"),
    Names("LYRICS", "USLT::eng", "Lyrics"),
    Names("ENCODEDBY", "TENC", "EncodedBy"),
    Names("ENCODER", "TSSE", "Encoder"),
)
"""Fields beside those of `fields.FIELDS_BY_NAME`, by Picard's names."""

_INFO = {
    "INAM": "TITLE", "IART": "ARTIST", "IPRD": "ALBUM", "ICRD": "DATE", "IGNR": "GENRE",
    "ICMT": "COMMENT", "IPRT": "TRACKNUMBER", "ITRK": "TRACKNUMBER", "ICOP": "COPYRIGHT",
    "IMUS": "COMPOSER", "IWRI": "LYRICIST", "IPUB": "LABEL", "ILNG": "LANGUAGE", "IMED": "MEDIA",
    "ISRC": "ISRC", "IBPM": "BPM", "ITCH": "ENCODEDBY", "ISFT": "ENCODER",
}  # fmt: skip
_AIFF = {"NAME": "TITLE", "AUTH": "ARTIST", "(c) ": "COPYRIGHT", "ANNO": "COMMENT"}
_ID3V1 = {
    "TITLE": slice(3, 33), "ARTIST": slice(33, 63), "ALBUM": slice(63, 93), "DATE": slice(93, 97),
    "COMMENT": slice(97, 127),
}  # fmt: skip
_ID3V1_TRACK, _ID3V1_GENRE, _NO_GENRE = 126, 127, 255

_OF_ONE_TEXT = {"COMMENT", "LYRICS"}

# Of mp3gain: how to take its change of the audio back, which it alone reads, in its own tag.
_NOT_TAKEN = re.compile(r"(?i)mp3gain_")
_VORBIS_NAME = re.compile(r"[ -<>-}]+")
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")


def texts_of_other_tags(tags: TagSet, form: str, names: tuple[Names, ...]) -> dict[str, Texts]:
    """Return what the tags say for a new one of this form, by its keys.

    `names` are fields beside `NAMES`. Where tags differ, the one that TagLib reads first counts.
    """
    known = (*NAMES, *names)
    said: dict[str, Texts] = {}
    for kind, read in _READERS.items():
        if (block := tags.block(kind)) and kind != form.partition(".")[0]:
            for name, texts in read(block, known):
                said.setdefault(name, texts)
    if "GENRE" in said:  # a number, or one in brackets, in ID3
        said["GENRE"] = tuple(TCON(encoding=3, text=list(said["GENRE"])).genres) or said["GENRE"]
    if form == "vorbis":
        return {name: texts for name, texts in said.items() if _VORBIS_NAME.fullmatch(name)}
    column = "id3" if form.startswith("id3") else "ape"
    for name in _OF_ONE_TEXT & said.keys():
        said[name] = ("\n".join(said[name]),)
    keys = {each.vorbis: str(getattr(each, column)) for each in known}
    return {
        keys.get(name, f"TXXX:{name}" if column == "id3" else name): texts
        for name, texts in said.items()
        if name != "DATE" or column != "id3" or _DATE.fullmatch(texts[0])
    }


def texts_of(item: Item) -> Texts:
    """Return the text of an INFO entry or a text chunk of AIFF; neither names its encoding."""
    text = item.data.partition(b"\0")[0]
    try:
        return (text.decode("utf-8").strip(),)
    except UnicodeDecodeError:
        return (text.decode("cp1252", "replace").strip(),)


_Said = Iterator[tuple[str, Texts]]


def _of_id3v2(block: Block, known: tuple[Names, ...]) -> _Said:
    names = {each.id3: each.vorbis for each in known} | {"TYER": "DATE"}
    for item in block.items:
        texts = id3.texts_of(block.form, item)
        kind, _, description = item.key.partition(":")
        if kind == "TXXX" and description:
            name = names.get(item.key, description.upper())
        elif kind in ("COMM", "USLT"):  # in any language, without a description
            name = names[f"{kind}::eng"] if description.startswith(":") else ""
        else:
            name = names.get(item.key, "")
        if name and texts and all(texts):
            yield name, texts


def _of_ape(block: Block, known: tuple[Names, ...]) -> _Said:
    names = {each.ape.casefold(): each.vorbis for each in known} | {"date": "DATE"}
    for item in block.items:
        texts = mp3.texts_of(item)
        if texts and all(texts) and not _NOT_TAKEN.match(item.key):
            yield names.get(item.key.casefold(), item.key.upper()), texts


def _by_name(names: Mapping[str, str]) -> Callable[[Block, tuple[Names, ...]], _Said]:
    def read(block: Block, _: tuple[Names, ...]) -> _Said:
        for item in block.items:
            texts = texts_of(item)
            if texts[0] and item.key in names:
                yield names[item.key], texts

    return read


def _of_id3v1(block: Block, _: tuple[Names, ...]) -> _Said:
    tag = block.items[0].data
    for name, place in _ID3V1.items():
        if text := tag[place].partition(b"\0")[0].decode("latin-1").strip():
            yield name, (text,)
    if tag[_ID3V1_TRACK - 1] == 0 and tag[_ID3V1_TRACK]:
        yield "TRACKNUMBER", (str(tag[_ID3V1_TRACK]),)
    if tag[_ID3V1_GENRE] != _NO_GENRE:
        yield "GENRE", (str(tag[_ID3V1_GENRE]),)


_READERS: dict[str, Callable[[Block, tuple[Names, ...]], _Said]] = {
    "id3v2": _of_id3v2,
    "apev2": _of_ape,
    riff.INFO_FORM: _by_name(_INFO),
    riff.TEXT_FORM: _by_name(_AIFF),
    "id3v1": _of_id3v1,
}
"""The forms of tag in the order in which TagLib reads them."""
