"""The recordings of a bundle: which of them the file may hold, and which of them are the same."""

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import Answer
from chart_binder.domain.evidence import (
    EvidenceBundle,
    RecordingCandidate,
    RecordingFlags,
    intents_in,
    set_off,
)
from chart_binder.domain.vocabulary import RecordingId, fold, isrc
from chart_binder.rules.candidates import Role, candidates_of
from chart_binder.rules.names import is_by, is_various

LENGTH_TOLERANCE_MS = 10_000
"""Transfers of one recording differ by this much at most, by silence and speed."""


class SortedRecordings(msgspec.Struct, frozen=True):
    """The recordings of a bundle, sorted."""

    kept: Sequence[RecordingCandidate]
    """Those that may be the file's: the decision is made on all of them together."""
    excluded: Sequence[tuple[RecordingCandidate, str]]
    """The others, each with the reason."""
    versions: Sequence[Sequence[RecordingCandidate]]
    """The kept ones by version: each is one recording, perhaps entered several times."""


_Test = Callable[[RecordingCandidate], Answer]
_Reason = Callable[[RecordingCandidate, Answer], str]


def sort_recordings(bundle: EvidenceBundle) -> SortedRecordings:
    """Sort the recordings of a bundle.

    Excluded are those of another kind (live, karaoke, a re-recording ...) than the one wanted,
    by another artist, with another remark than the title wanted (`(X Remix)`, `(Y Remix)`), or of
    another length than the file, as long as any fits. One by an unknown artist stays only where
    none is certainly by the artist.
    """
    kept: Sequence[RecordingCandidate] = bundle.recording_candidates
    if len(kept) <= 1:
        return SortedRecordings(kept, (), (kept,))
    kept = sorted(kept, key=_order)
    excluded: list[tuple[RecordingCandidate, str]] = []
    for test, reason in (
        _artist_test(bundle), _kind_test(bundle), _remark_test(bundle), _length_test(bundle),
    ):  # fmt: skip
        answers = [test(one) for one in kept]
        wanted = next((answer for answer in (True, None) if answer in answers), False)
        pairs = list(zip(kept, answers, strict=True))
        excluded += [(one, reason(one, answer)) for one, answer in pairs if answer is not wanted]
        kept = [one for one, answer in pairs if answer is wanted]
    return SortedRecordings(kept, excluded, _versions(kept))


def recording_of(
    recordings: Sequence[RecordingCandidate], release: str | None, bundle: EvidenceBundle
) -> RecordingId:
    """Return the recording of a decision: one on its release, the nearest to the file's length."""
    if len(recordings) == 1:
        return recordings[0].mb_recording_id
    duration_ms = (bundle.artifact and bundle.artifact.duration_ms) or 0

    def order(one: RecordingCandidate) -> tuple[bool, int, str]:
        releases = {edition.mb_release_id for group in one.groups for edition in group.editions}
        apart_ms = abs(one.length_ms - duration_ms) if one.length_ms and duration_ms else 0
        return release not in releases, apart_ms, one.mb_recording_id

    return min(recordings, key=order).mb_recording_id


def format_length(length_ms: int | None) -> str:
    """Return a length as `3:58`."""
    if not length_ms:
        return "of unknown length"
    seconds = round(length_ms / 1_000)
    return f"{seconds // 60}:{seconds % 60:02}"


def _order(recording: RecordingCandidate) -> tuple[str, str]:
    """Return a sort key that does not depend on the order of the recording's own lists."""
    codes = tuple(sorted(recording.isrcs or ()))
    return recording.mb_recording_id, str(replace(recording, isrcs=codes, rg_candidates=None))


# The tests, in the order in which they exclude.


def _artist_test(bundle: EvidenceBundle) -> tuple[_Test, _Reason]:
    """Test whether official records credit a recording to the artist.

    Unofficial copies are not asked: one more of them would change what a decision rests on. A
    recording that no record credits stays beside those that certainly are the artist's.
    """
    name = bundle.performer.name
    credited = {
        one.group.mb_rg_id: is_by([name or ""], one.group, one.official)
        for one in candidates_of(bundle.recording_candidates)
        # The credit of a compilation or soundtrack may differ from that of the recording.
        if one.counts
        and one.role not in (Role.COMPILATION, Role.SOUNDTRACK)
        and not is_various(one.group, one.official)
    }

    def answers_of(recording: RecordingCandidate) -> set[Answer]:
        return {credited[one.mb_rg_id] for one in recording.groups if one.mb_rg_id in credited}

    is_any_certain = not name or any(True in answers_of(o) for o in bundle.recording_candidates)

    def test(recording: RecordingCandidate) -> Answer:
        answers = answers_of(recording) if name else set()
        if not answers:
            return True if is_any_certain else None
        return True if True in answers else (None if None in answers else False)

    def reason(_: RecordingCandidate, answer: Answer) -> str:
        known = "known to be " if answer is None else ""
        return f"the recording on it is not {known}credited to {name}"

    return test, reason


_BACKING = re.compile(
    r"\b(?:instrumental|inst|karaoke|off[ -]vocal|backing track|minus one|a ?cappella)\b"
    r"|カラオケ|インスト|노래방|반주|伴奏",
    re.IGNORECASE,
)
_RE_RECORDED = re.compile(
    r"\bre-?record(?:ed|ing)\b|\bnew recording\b|self[ -]cover|セルフカバー|再録|新録"
    r"|\b\w+['’]s version\b|\b(?:19|20)\d\d version\b",
    re.IGNORECASE,
)
_KIND_FLAGS = ("is_live", "is_remix", "is_demo", "is_radio_edit", "is_acoustic")
_KIND_NOUNS = {
    "live": "a live recording", "remix": "a remix", "demo": "a demo", "radio edit": "a radio edit",
    "acoustic": "an acoustic recording", "instrumental": "an instrumental",
    "re-recorded": "a re-recording",
}  # fmt: skip


def _kind_test(bundle: EvidenceBundle) -> tuple[_Test, _Reason]:
    """Test whether a recording is of the kind that the title wanted says."""
    title = title_wanted(bundle)
    wanted = _kind(intents_in(title, None), title, None)

    def noun(kind: str) -> str:
        return _KIND_NOUNS.get(kind, f"a recording of the kind '{kind}'")

    def reason(recording: RecordingCandidate, _: Answer) -> str:
        found = _kind_of(recording)
        return f"the recording on it is {noun(found) if found else f'not {noun(wanted)}'}"

    return lambda recording: _kind_of(recording) == wanted, reason


def _kind_of(recording: RecordingCandidate) -> str:
    return _kind(recording.intent, recording.title, recording.disambiguation)


def _kind(flags: RecordingFlags, title: str | None, comment: str | None) -> str:
    """Return what is special about a recording: `live`, `instrumental`, or nothing."""
    remark = f"{set_off(title or '')} {comment or ''}"
    words = [
        name.removeprefix("is_").replace("_", " ") for name in _KIND_FLAGS if getattr(flags, name)
    ]
    words += ["instrumental"] if _BACKING.search(remark) else []
    words += ["re-recorded"] if _RE_RECORDED.search(remark) else []
    return " ".join(words)


_NO_VERSION = re.compile(
    r"(?:\b(?:19|20)\d\d\s+)?\b(?:digital(?:ly)?\s+)?re-?master(?:ed|ing)?\b(?:\s+version)?"
    r"(?:\s+(?:19|20)\d\d\b)?"
    r"|\b(?:feat(?:uring)?|ft)\b[^/]*",
    re.IGNORECASE,
)
"""Remarks that make no other version: of a remaster, and of guests."""
_WORD = re.compile(r"\w+")


def _remark_test(bundle: EvidenceBundle) -> tuple[_Test, _Reason]:
    """Test whether a recording's title, with its remark, may be the one wanted.

    Every recording passes, unless one of them has exactly the remark wanted.
    """
    title = title_wanted(bundle)
    wanted = _remark_words(set_off(title))
    is_any = wanted and any(
        _remark_words(set_off(one.title or "")) == wanted for one in bundle.recording_candidates
    )

    def test(recording: RecordingCandidate) -> Answer:
        remark = _remark_words(set_off(recording.title or ""))
        return not is_any or remark <= wanted or wanted <= remark

    return test, lambda one, _: f"the recording on it is '{one.title}', not '{title}'"


def _remark_words(remark: str) -> frozenset[str]:
    return frozenset(_WORD.findall(fold(_NO_VERSION.sub(" ", remark))))


def title_wanted(bundle: EvidenceBundle) -> str:
    """Return the title of the evidence, or else of the file's tags."""
    tags = (bundle.artifact and bundle.artifact.tags) or {}
    return bundle.recording_title or tags.get("title") or ""


def _length_test(bundle: EvidenceBundle) -> tuple[_Test, _Reason]:
    duration_ms = bundle.artifact.duration_ms if bundle.artifact else None

    def test(recording: RecordingCandidate) -> Answer:
        if not duration_ms or not recording.length_ms:
            return True
        return abs(recording.length_ms - duration_ms) <= LENGTH_TOLERANCE_MS

    def reason(recording: RecordingCandidate, _: Answer) -> str:
        return (
            f"the recording on it is {format_length(recording.length_ms)} long, the file"
            f" {format_length(duration_ms)}"
        )

    return test, reason


# Versions among the recordings kept.


def _versions(recordings: Sequence[RecordingCandidate]) -> Sequence[Sequence[RecordingCandidate]]:
    """Group recordings by version: those of one length or with an ISRC in common are the same.

    One without a length may be any of them, so it is in each group. Those of one length are not the
    same if they are of two kinds, or if each has a remark that the other lacks.
    """
    timed = [(one.length_ms, one) for one in recordings if one.length_ms]
    versions: list[list[RecordingCandidate]] = []
    first_ms = -LENGTH_TOLERANCE_MS
    for length_ms, one in sorted(timed, key=lambda pair: pair[0]):
        if versions and length_ms - first_ms <= LENGTH_TOLERANCE_MS:
            versions[-1].append(one)
        else:
            versions.append([one])
            first_ms = length_ms
    untimed = [one for one in recordings if not one.length_ms]
    merged = [version + untimed for version in _merged_by_isrc(versions)] or [untimed]
    return [each for version in merged for each in _split_by_remark(version)]


def _split_by_remark(version: list[RecordingCandidate]) -> list[list[RecordingCandidate]]:
    """Split recordings of one length by kind and remark, but keep those of one ISRC together.

    One with a shorter remark (`live` beside `live, 1979: Lyon`) may be any of them, so it is in
    each group.
    """
    if len(version) == 1:
        return [version]
    described = [
        (
            frozenset.intersection(*(frozenset(_kind_of(one).split()) for one in same)),
            frozenset.intersection(*map(_remark_of, same)),
            same,
        )
        for same in _merged_by_isrc([[one] for one in version])
    ]
    found = dict.fromkeys((kind, remark) for kind, remark, _ in described)
    longest = [
        (kind, remark)
        for kind, remark in found
        if not any(kind == other and remark < more for other, more in found)
    ]
    return [
        [one for own, less, same in described if own == kind and less <= remark for one in same]
        for kind, remark in longest
    ]


def _remark_of(recording: RecordingCandidate) -> frozenset[str]:
    """Return the words of its title and comment that tell a recording from others of the song."""
    words = _remark_words(f"{set_off(recording.title or '')} {recording.disambiguation or ''}")
    return words | {"mono"} if recording.intent.is_mono else words


def _merged_by_isrc(
    versions: Iterable[list[RecordingCandidate]],
) -> list[list[RecordingCandidate]]:
    merged: dict[int, list[RecordingCandidate]] = {}
    homes: dict[str, int] = {}
    for number, version in enumerate(versions):
        members = list(version)
        for home in sorted({homes[code] for code in _isrcs(version) & homes.keys()}, reverse=True):
            members = merged.pop(home) + members
        merged[number] = members
        homes |= dict.fromkeys(_isrcs(members), number)
    return list(merged.values())


def _isrcs(recordings: Iterable[RecordingCandidate]) -> set[str]:
    return {isrc(code) for one in recordings for code in one.isrcs or ()} - {""}
