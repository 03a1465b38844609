"""An ID3v1 tag, as frames of ID3v2.4.

Format: https://id3.org/ID3v1
"""

from chart_binder.audio.forms.id3_text import text_frame
from chart_binder.audio.tagset import Item

_TEXTS = {"TIT2": slice(3, 33), "TPE1": slice(33, 63), "TALB": slice(63, 93), "TDRC": slice(93, 97)}
_COMMENT, _TRACK, _GENRE = slice(97, 127), 126, 127
_NO_GENRE = 255


def frames_of(tag: bytes) -> tuple[Item, ...]:
    """Return what the 128 bytes of the tag say as ID3v2.4 frames, nothing for what is blank."""
    form = "id3v2.4"
    texts = {key: _text(tag[place]) for key, place in _TEXTS.items()}
    if tag[_TRACK - 1] == 0 and tag[_TRACK]:
        texts["TRCK"] = str(tag[_TRACK])
    if tag[_GENRE] != _NO_GENRE:
        texts["TCON"] = str(tag[_GENRE])
    frames = [text_frame(form, key, (text,)) for key, text in texts.items() if text]
    if comment := _text(tag[_COMMENT]):
        content = b"COMM\0\0\3eng\0" + comment.encode()
        frames.append(Item("COMM::eng", content))
    return tuple(frames)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("latin-1").strip()
