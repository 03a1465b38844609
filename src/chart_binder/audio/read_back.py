"""New tags as another program reads them: mutagen, by which many taggers do.

The file has to be of the kind that mutagen takes it for, since that decides which tag it reads, and
every field that changed has to say there what was meant.
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
from chart_binder.audio.file_access import OpenFile
from chart_binder.audio.tagset import TagBlock, TagSet
from chart_binder.errors import AudioError

_KINDS: Mapping[str, Any] = {
    "mp3": MP3, "aiff": AIFF, "wav": WAVE, "dsf": DSF, "flac": FLAC, "ogg": OggVorbis,
    "opus": OggOpus, "mp4": MP4, "asf": ASF, "ape": MonkeysAudio, "wv": WavPack, "mpc": Musepack,
}  # fmt: skip
_RIVALS = (*_KINDS.values(), AAC, APEv2File, ID3FileType, TrueAudio)
"""What mutagen may take such a file for."""

_HEADER_BYTES = 128  # what mutagen looks at to tell kinds apart, with the name

_NEVER_READ = frozenset({"XDOR"})
"""Frames of fields for which mutagen has no class."""


def require_read_back(source: OpenFile, before: TagSet, after: TagSet) -> None:
    """Raise `AudioError` if mutagen finds other fields in a file than those that changed.

    The file has the tags `after`.
    """
    changed = list(_changed_texts(before, after))
    try:
        with source.stream() as stream:
            kind = _kind(stream, str(source.path))
            is_own = kind is _KINDS[after.container]
            tags = _tags(kind, stream) if is_own and changed else None
    except Exception as error:  # a defect of mutagen, or a damaged file
        is_defect = not isinstance(error, MutagenError)
        detail = f"{type(error).__name__}: {error}" if is_defect else str(error)
        raise AudioError(f"mutagen cannot read it with the new tags ({detail})") from error
    if not is_own:
        name = kind.__name__ if kind else "no audio"
        raise AudioError(
            f"mutagen and programs built on it take it for {name}, by its name and beginning, and"
            " would not see the new tags"
        )
    for key, texts in changed:
        value = tags.get(key) if tags is not None else None
        if (seen := _texts_of(value)) != _as_mutagen_has(value, texts):
            there, meant = ("; ".join(each) for each in (seen, texts))
            raise AudioError(f"mutagen reads {there!r} under {key}, where {meant!r} is meant")


def _kind(stream: BinaryIO, name: str) -> Any:
    """Return what mutagen takes a file for, by the scores that it gives, or `None`."""
    header = stream.read(_HEADER_BYTES)
    scores = ((kind.score(name, stream, header), kind.__name__, kind) for kind in _RIVALS)
    score, _, kind = max(scores, key=lambda scored: scored[:2])
    return kind if score > 0 else None


def _tags(kind: Any, stream: BinaryIO) -> Any:
    """Return the tags that mutagen reads, those of ID3 without a change of their version."""
    stream.seek(0)
    if kind in (MP3, AIFF, WAVE, DSF):
        return kind(stream, translate=False, load_v1=False).tags
    return kind(stream).tags


def _changed_texts(before: TagSet, after: TagSet) -> Iterator[tuple[str, Texts]]:
    """Yield the key and the texts of each key of a field that got other texts."""
    for block in after.blocks:
        old = before.block(block.form) or TagBlock(block.form)
        changed = {item.key for item in {*old.items} ^ {*block.items}}
        was, now = (_texts_by_key(each, changed) for each in (old, block))
        for key, texts in now.items():
            if was.get(key) != texts and key not in _NEVER_READ:
                yield key, texts


def _texts_by_key(block: TagBlock, keys: Collection[str]) -> dict[str, Texts]:
    """Return the texts under those of the keys that are of fields."""
    found: dict[str, Texts] = {}
    fields_of = keys_of_form(block.form).fields_of if keys else None
    for item in block.items:
        is_asked = fields_of and item.key in keys and fields_of(item.key)
        texts = item_texts(block.form, item) if is_asked else None
        if texts is not None:
            key = long_key(block.form, item.key)
            found[key] = (*found.get(key, ()), *texts)
    return found


def _texts_of(value: Any) -> Texts:
    """Return the texts of what mutagen has under a key; none for `None`."""
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


def _as_mutagen_has(value: Any, texts: Texts) -> Texts:
    """Return texts as mutagen would have them: of a time stamp it keeps the numbers alone."""
    if isinstance(value, TimeStampTextFrame):
        return tuple(ID3TimeStamp(text).text for text in texts)
    return texts
