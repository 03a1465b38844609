"""Checking new tags with mutagen, the library of many taggers.

mutagen must detect the right format, because that decides which tag it reads, and it must find the
new texts in every field that changed.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, BinaryIO

from mutagen import MutagenError
from mutagen.aac import AAC
from mutagen.aiff import AIFF
from mutagen.apev2 import APEv2File
from mutagen.asf import ASF
from mutagen.dsf import DSF
from mutagen.flac import FLAC
from mutagen.id3 import UFID, ID3FileType, ID3TimeStamp, TimeStampTextFrame
from mutagen.monkeysaudio import MonkeysAudio
from mutagen.mp3 import MP3
from mutagen.mp4 import MP4
from mutagen.musepack import Musepack
from mutagen.oggopus import OggOpus
from mutagen.oggvorbis import OggVorbis
from mutagen.trueaudio import TrueAudio
from mutagen.wave import WAVE
from mutagen.wavpack import WavPack

from chart_binder.audio.field_table import Texts, keys_of_form, long_key
from chart_binder.audio.fields import item_texts
from chart_binder.audio.open_file import OpenFile
from chart_binder.audio.tagset import TagBlock, TagSet
from chart_binder.errors import AudioError

_CLASSES: Mapping[str, Any] = {
    "mp3": MP3, "aiff": AIFF, "wav": WAVE, "dsf": DSF, "flac": FLAC, "ogg": OggVorbis,
    "opus": OggOpus, "mp4": MP4, "asf": ASF, "ape": MonkeysAudio, "wv": WavPack, "mpc": Musepack,
}  # fmt: skip
_CANDIDATES = (*_CLASSES.values(), AAC, APEv2File, ID3FileType, TrueAudio)
"""The classes that mutagen may choose for such a file."""

_HEADER_BYTES = 128  # mutagen detects the format by these bytes and the file name

_NEVER_READ = frozenset({"XDOR"})
"""Frames that hold fields but have no class in mutagen."""


def require_read_back(source: OpenFile, before: TagSet, after: TagSet) -> None:
    """Raise `AudioError` unless mutagen reads the changed fields of `source` as `after` has them.

    `before` are the tags of the old file.
    """
    changed = list(_changed_texts(before, after))
    try:
        with source.stream() as stream:
            mutagen_class = _detected_class(stream, str(source.path))
            is_right = mutagen_class is _CLASSES[after.container]
            tags = _tags(mutagen_class, stream) if is_right and changed else None
    except Exception as error:  # a bug in mutagen, or a damaged file
        is_bug = not isinstance(error, MutagenError)
        detail = f"{type(error).__name__}: {error}" if is_bug else str(error)
        raise AudioError(f"mutagen cannot read it with the new tags ({detail})") from error
    if not is_right:
        name = mutagen_class.__name__ if mutagen_class else "no audio"
        raise AudioError(
            f"mutagen and programs built on it take it for {name}, by its name and first bytes, and"
            " would not see the new tags"
        )
    for key, texts in changed:
        value = tags.get(key) if tags is not None else None
        if (actual := _texts_of(value)) != _as_mutagen_reads(value, texts):
            actual_text, expected = "; ".join(actual), "; ".join(texts)
            raise AudioError(
                f"mutagen reads {actual_text!r} under {key}, where {expected!r} is expected"
            )


def _detected_class(stream: BinaryIO, name: str) -> Any:
    """Return the mutagen class with the best score for a file, or `None`."""
    header = stream.read(_HEADER_BYTES)
    scores = ((cls.score(name, stream, header), cls.__name__, cls) for cls in _CANDIDATES)
    score, _, best = max(scores, key=lambda scored: scored[:2])
    return best if score > 0 else None


def _tags(mutagen_class: Any, stream: BinaryIO) -> Any:
    """Return the tags that mutagen reads; ID3 tags keep their version."""
    stream.seek(0)
    if mutagen_class in (MP3, AIFF, WAVE, DSF):
        return mutagen_class(stream, translate=False, load_v1=False).tags
    return mutagen_class(stream).tags


def _changed_texts(before: TagSet, after: TagSet) -> Iterator[tuple[str, Texts]]:
    """Yield the keys of fields whose texts changed, each with its new texts."""
    for block in after.blocks:
        old = before.block(block.form) or TagBlock(block.form)
        changed = {item.key for item in {*old.items} ^ {*block.items}}
        old_texts = _texts_by_key(old, changed)
        for key, texts in _texts_by_key(block, changed).items():
            if old_texts.get(key) != texts and key not in _NEVER_READ:
                yield key, texts


def _texts_by_key(block: TagBlock, keys: Collection[str]) -> dict[str, Texts]:
    """Return the texts of `keys`, without keys that belong to no field."""
    by_key: dict[str, Texts] = {}
    fields_of = keys_of_form(block.form).fields_of if keys else None
    for item in block.items:
        is_field = fields_of and item.key in keys and fields_of(item.key)
        texts = item_texts(block.form, item) if is_field else None
        if texts is not None:
            key = long_key(block.form, item.key)
            by_key[key] = (*by_key.get(key, ()), *texts)
    return by_key


def _texts_of(value: Any) -> Texts:
    """Return the texts of a value of mutagen, nothing for `None`."""
    if value is None or isinstance(value, bool):
        return () if value is None else (str(int(value)),)
    if isinstance(value, UFID):
        return (_text(getattr(value, "data", b"")),)
    return tuple(map(_text, getattr(value, "text", value)))


def _text(value: Any) -> str:
    if isinstance(value, tuple):  # a number and a total
        return "/".join(str(number) for number in value if number)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(getattr(value, "value", value))


def _as_mutagen_reads(value: Any, texts: Texts) -> Texts:
    """Return texts as mutagen reads them: it keeps only the numbers of a time stamp."""
    if isinstance(value, TimeStampTextFrame):
        return tuple(ID3TimeStamp(text).text for text in texts)
    return texts
