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


_ELSEWHERE_LIVE = r"\b(?:en vivo|en directo|ao vivo|dal vivo)\b|ライブ|ライヴ|现场|現場|라이브"
_LIVE_IN_ONE = r"\blive(?:version|aufnahme|mitschnitt|fassung)\b"
# Mixes for dancing are remixes; an original, album, stereo or 2009 mix is none.
_DANCE_MIX = (
    r"\b(?:extended|house|maxi)[-\s]mix\b"
    r"|\b(?:club|dub|dance|disco|(?:12|twelve)[-\s]?(?:[\"”″]|''|inch))[-\s]*(?:mix|version)\b"
)
_WORDS = tuple(
    re.compile(words, re.IGNORECASE)
    for words in (
        rf"\blive\b|{_LIVE_IN_ONE}|{_ELSEWHERE_LIVE}",
        rf"\b(?:re-?mix(?:ed|es)?|rmx)\b|{_DANCE_MIX}|リミックス",
        r"\bdemo\b|デモ",
        r"\bedit\b|\bradio[-\s](?:version|mix)\b",
        r"\b(?:acoustic|unplugged)\b|アコースティック",
        r"\bmono\b|モノラル",
    )
)
_ANY = re.compile("|".join(f"(?:{form.pattern})" for form in _WORDS), re.IGNORECASE)
# A title's own words do not count ("Live and Let Die"): only what is bracketed or set off.
_SET_OFF = re.compile(r"[(\[（［]([^)\]）］]+)|\s[-–—]\s((?s:.+))|[-~～〜]([^-~～〜]+)[-~～〜]$")
_STOP = re.compile(r"[,;:/|()\[\]（）［］]|\s[-–—]\s")
_DENIED = re.compile(
    r"\bnon[- ]?(?:live|remix|demo|acoustic|mono)\b"
    r"|\b(?:not|without|isn['’]t|studio (?:version|recording|take))\b[^,;()\[\]]*",
    re.IGNORECASE,
)
# "Live" is a verb too ("Hold On (While We Live)"): in a title it counts as a remark only.
_LIVE_REMARK = re.compile(
    r"^\W*(?:(?:recorded|performed|played|acoustic|unplugged|instrumental|solo|bonus|remastered"
    r"|version|mono|stereo|demo|edit|\d{4})\s+)*live"
    r"(?:\W*$|\s+(?:(?:at|in|from|on|@)\s*\S|with\s+(?!me\b|you\b|us\b|it\b)\S)|\b.*\d)"
    r"|\blive[-\s](?:version|recording|take|performance|session|mix|edit|track|lounge|acoustic)s?\b"
    rf"|{_LIVE_IN_ONE}|{_ELSEWHERE_LIVE}",
    re.IGNORECASE,
)


@lru_cache(maxsize=4_096)
def intents_in(title: str | None, comment: str | None) -> Intents:
    """Return the kinds that a title sets off, or its disambiguation comment names.

    What is denied does not count: `studio version, not the live one`.
    """
    remark, comment = set_off(title or ""), comment or ""
    if not _ANY.search(f"{remark} {comment}"):
        return Intents()
    remark, comment = _DENIED.sub("", remark), _DENIED.sub("", comment)
    said = f"{remark} / {comment}"
    found = Intents._make(form.search(said) is not None for form in _WORDS)
    is_live = _WORDS[0].search(comment) or any(map(_LIVE_REMARK.search, _STOP.split(remark)))
    return found._replace(live=bool(is_live))


def set_off(title: str) -> str:
    """Return what stands in brackets, behind a dash or between dashes at the end."""
    return " / ".join("".join(found) for found in _SET_OFF.findall(title))
