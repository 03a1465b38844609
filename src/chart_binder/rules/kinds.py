"""What kind of take a recording is, so that a live one or karaoke is not taken for the song."""

import re

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

_FLAGS = ("is_live", "is_remix", "is_demo", "is_radio_edit", "is_acoustic")


def kind_of(recording: RecordingCandidate) -> str:
    """Return what is special about a recording: `live`, `instrumental`, or nothing."""
    return _words(recording.intent, recording.title, recording.disambiguation)


def kind_meant(bundle: EvidenceBundle) -> str:
    """Return what is special about the recording that is looked for, by its title."""
    tags = (bundle.artifact and bundle.artifact.tags) or {}
    title = bundle.recording_title or tags.get("title")
    return _words(RecordingFlags(*intents_in(title, None)), title, None)


def _words(flags: RecordingFlags, title: str | None, comment: str | None) -> str:
    said = f"{set_off(title or '')} {comment or ''}"
    words = [name.removeprefix("is_").replace("_", " ") for name in _FLAGS if getattr(flags, name)]
    words += ["instrumental"] if _BACKING.search(said) else []
    words += ["re-recorded"] if _AGAIN.search(said) else []
    return " ".join(words)
