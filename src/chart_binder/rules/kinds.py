"""What kind of take a recording is, so that a live one or karaoke is not taken for the song."""

import re
import unicodedata

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, RecordingFlags
from chart_binder.domain.intent import intents_in, set_off

_BACKING = re.compile(
    r"\b(?:instrumental|inst|karaoke|off[ -]vocal|backing track|minus one|a ?cappella)\b"
    r"|カラオケ|インスト|노래방|반주|伴奏",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\bre-?record(?:ed|ing)\b|\bnew recording\b|self[ -]cover|セルフカバー|再録|新録"
    r"|\b\w+['’]s version\b|\b(?:19|20)\d\d version\b",
    re.IGNORECASE,
)

_NO_TAKE = re.compile(
    r"(?:\b(?:19|20)\d\d\s+)?\b(?:digital(?:ly)?\s+)?re-?master(?:ed|ing)?\b(?:\s+version)?"
    r"(?:\s+(?:19|20)\d\d\b)?"
    r"|\b(?:feat(?:uring)?|ft)\b[^/]*",
    re.IGNORECASE,
)
"""A remaster is no other take, nor does a guest's name make one: they tell nothing apart."""
_REMARK_WORD = re.compile(r"\w+")

_FLAGS = ("is_live", "is_remix", "is_demo", "is_radio_edit", "is_acoustic")


def kind_of(recording: RecordingCandidate) -> str:
    """Return what is special about a recording: `live`, `instrumental`, or nothing."""
    return _words(recording.intent, recording.title, recording.disambiguation)


def kind_meant(bundle: EvidenceBundle) -> str:
    """Return what is special about the recording that is looked for, by its title."""
    title = title_meant(bundle)
    return _words(RecordingFlags(*intents_in(title, None)), title, None)


def remark_of(recording: RecordingCandidate) -> frozenset[str]:
    """Return the words by which its title and comment tell a recording from others of the song."""
    said = remark_in(f"{set_off(recording.title or '')} {recording.disambiguation or ''}")
    return said | {"mono"} if recording.intent.is_mono else said


def remark_in(said: str) -> frozenset[str]:
    """Return the words of a remark, but for those on a remaster or a guest."""
    plain = unicodedata.normalize("NFKC", _NO_TAKE.sub(" ", said)).casefold()
    return frozenset(_REMARK_WORD.findall(plain))


def title_meant(bundle: EvidenceBundle) -> str:
    """Return the title that is looked for: of the evidence, or else of the file's tags."""
    tags = (bundle.artifact and bundle.artifact.tags) or {}
    return bundle.recording_title or tags.get("title") or ""


def _words(flags: RecordingFlags, title: str | None, comment: str | None) -> str:
    said = f"{set_off(title or '')} {comment or ''}"
    words = [name.removeprefix("is_").replace("_", " ") for name in _FLAGS if getattr(flags, name)]
    words += ["instrumental"] if _BACKING.search(said) else []
    words += ["re-recorded"] if _AGAIN.search(said) else []
    return " ".join(words)
