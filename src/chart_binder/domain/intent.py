"""What a title says about the kind of performance or mix a recording is."""

import re
from functools import lru_cache
from typing import NamedTuple


class Intents(NamedTuple):
    """The kinds a recording can be of, in the order of `RecordingFlags`."""

    live: bool = False
    remix: bool = False
    demo: bool = False
    radio_edit: bool = False
    acoustic: bool = False
    mono: bool = False


_WORDS = tuple(
    re.compile(words, re.IGNORECASE)
    for words in (
        r"\b(?:live|en vivo|en directo|ao vivo|dal vivo)\b|ライブ|ライヴ|现场|現場|라이브",
        r"\b(?:re-?mix|rmx)\b|リミックス",
        r"\bdemo\b|デモ",
        r"\bradio (?:edit|version|mix)\b",
        r"\b(?:acoustic|unplugged)\b|アコースティック",
        r"\bmono\b|モノラル",
    )
)
_ANY = re.compile("|".join(f"(?:{form.pattern})" for form in _WORDS), re.IGNORECASE)
# A title's own words do not count ("Live and Let Die"): only what is bracketed or set off.
_SET_OFF = re.compile(r"[(\[（［]([^)\]）］]+)|\s[-–—]\s(.+)$|[-~～〜]([^-~～〜]+)[-~～〜]$")


@lru_cache(maxsize=4_096)
def intents_in(title: str | None, comment: str | None) -> Intents:
    """Return the kinds that a title sets off, or its disambiguation comment names."""
    said = " ".join(filter(None, (set_off(title or ""), comment)))
    if not said or not _ANY.search(said):
        return Intents()
    return Intents._make(form.search(said) is not None for form in _WORDS)


def set_off(title: str) -> str:
    """Return what stands in brackets, behind a dash or between dashes at the end."""
    return " ".join("".join(found) for found in _SET_OFF.findall(title))
