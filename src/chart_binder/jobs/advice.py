"""What a person can do about a file of which nothing came."""

import msgspec

from chart_binder.jobs.decision import Cause

_AGAIN = "`canon decide` tries again"
_BY_CAUSE = {
    Cause.FILE: f"mend or replace the file, then {_AGAIN}",
    Cause.UNIDENTIFIED: f"give it tags (artist and title, or a recording id), then {_AGAIN}",
    Cause.LOOKUP_FAILED: f"{_AGAIN}; `canon doctor` says what answers",
    Cause.NOTHING_FOUND: "correct its tags, or add the recording to MusicBrainz; then"
    " `canon batch --refresh` looks again",
    Cause.NOT_LOOKED_UP: "`canon batch` without `--frozen`, or `canon decide`, looks it up",
    Cause.EVIDENCE: f"correct the evidence, then {_AGAIN}",
    Cause.MODEL: f"{_AGAIN}; `canon doctor` says what answers",
    Cause.STORE: f"{_AGAIN}; `canon doctor` says what is wrong with the store",
    Cause.FAULT: f"report it, with the error; {_AGAIN}",
}


def what_to_do(cause: Cause | msgspec.UnsetType | None) -> str:
    """Return what helps against a cause, as half a sentence."""
    return _BY_CAUSE.get(cause, _AGAIN) if isinstance(cause, Cause) else _AGAIN
