"""Several recordings of one song are sorted: which may be the file's, and which are the same."""

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
from chart_binder.rules.candidates import Candidate, Role, candidates_of
from chart_binder.rules.names import is_by, is_various

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
    return frozenset(_REMARK_WORD.findall(fold(_NO_TAKE.sub(" ", said))))


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


LENGTH_TOLERANCE_MS = 10_000
"""Transfers of one recording differ by this much at most, by silence and speed."""


class Lineup(msgspec.Struct, frozen=True):
    """The recordings of a bundle, sorted."""

    kept: Sequence[RecordingCandidate]
    """Those that may be the file's: the decision stands on all of them together."""
    left_out: Sequence[tuple[RecordingCandidate, str]]
    """The others, each with why."""
    versions: Sequence[Sequence[RecordingCandidate]]
    """The kept ones, told apart: each is one recording, perhaps entered several times."""


_KINDS = {
    "live": "a live recording", "remix": "a remix", "demo": "a demo", "radio edit": "a radio edit",
    "acoustic": "an acoustic recording", "instrumental": "an instrumental",
    "re-recorded": "a re-recording",
}  # fmt: skip

_Sieve = Callable[[RecordingCandidate, EvidenceBundle], Answer]
_Why = Callable[[RecordingCandidate, EvidenceBundle, Answer], str]


def line_up(bundle: EvidenceBundle) -> Lineup:
    """Sort the recordings of a bundle.

    Left out are those of another kind (live, karaoke, a re-recording ...) than what is looked for,
    by another artist, of another remark than the title looked for (`(X Remix)`, `(Y Remix)`), or of
    another length than the file, as long as any fits. One of which nobody knows by whom it is
    stays only where none is by the artist for certain.
    """
    kept: Sequence[RecordingCandidate] = bundle.recording_candidates
    if len(kept) <= 1:
        return Lineup(kept, (), (kept,))
    kept = sorted(kept, key=_order)
    left_out: list[tuple[RecordingCandidate, str]] = []
    sieves: Iterable[tuple[_Sieve, _Why]] = (
        (_is_by_the_artist(bundle), _other_artist),
        (_is_of_the_kind_meant, _other_kind),
        (_is_of_the_remark_meant(bundle), _other_remark),
        (_is_as_long, _other_length),
    )
    for fits, why in sieves:
        answers = [fits(one, bundle) for one in kept]
        wanted = next((answer for answer in (True, None) if answer in answers), False)
        sorted_out = list(zip(kept, answers, strict=True))
        left_out += [
            (one, why(one, bundle, is_so)) for one, is_so in sorted_out if is_so is not wanted
        ]
        kept = [one for one, is_so in sorted_out if is_so is wanted]
    return Lineup(kept, left_out, versions_among(kept))


def _order(recording: RecordingCandidate) -> tuple[str, str]:
    """Return what puts recordings in order, that of their own lists left aside."""
    codes = tuple(sorted(recording.isrcs or ()))
    return recording.mb_recording_id, str(replace(recording, isrcs=codes, rg_candidates=None))


def versions_among(
    recordings: Sequence[RecordingCandidate],
) -> Sequence[Sequence[RecordingCandidate]]:
    """Tell recordings apart: those of one length or with an ISRC in common are the same.

    One without a length may be any of them, so it goes with each. Those of one length are not the
    same if they are of two kinds, or if each has a remark that the other has not.
    """
    timed = [one for one in recordings if one.length_ms]
    versions: list[list[RecordingCandidate]] = []
    for one in sorted(timed, key=lambda one: one.length_ms or 0):
        if versions and _apart_ms(one, versions[-1][0]) <= LENGTH_TOLERANCE_MS:
            versions[-1].append(one)
        else:
            versions.append([one])
    untimed = [one for one in recordings if not one.length_ms]
    joined = [version + untimed for version in _joined(versions)] or [untimed]
    return [each for version in joined for each in _told_apart(version)]


def _told_apart(version: list[RecordingCandidate]) -> list[list[RecordingCandidate]]:
    """Take recordings of one length apart by what is said of them, but for those of one ISRC.

    One of which less is said (`live` beside `live, 1979: Lyon`) may be any of them, so it goes
    with each.
    """
    if len(version) == 1:
        return [version]
    told = [
        (
            frozenset.intersection(*(frozenset(kind_of(one).split()) for one in same)),
            frozenset.intersection(*map(remark_of, same)),
            same,
        )
        for same in _joined([[one] for one in version])
    ]
    takes = dict.fromkeys((kind, remark) for kind, remark, _ in told)
    fullest = [
        (kind, remark)
        for kind, remark in takes
        if not any(kind == other and remark < more for other, more in takes)
    ]
    return [
        [one for own, said, same in told if own == kind and said <= remark for one in same]
        for kind, remark in fullest
    ]


def _joined(versions: Iterable[list[RecordingCandidate]]) -> list[list[RecordingCandidate]]:
    """Join the versions that have an ISRC in common."""
    joined: dict[int, list[RecordingCandidate]] = {}
    homes: dict[str, int] = {}
    for number, version in enumerate(versions):
        codes = {isrc(code) for one in version for code in one.isrcs or ()} - {""}
        members = list(version)
        for home in sorted({homes[code] for code in codes if code in homes}, reverse=True):
            members = joined.pop(home) + members
        joined[number] = members
        told = {isrc(code) for one in members for code in one.isrcs or ()} - {""}
        homes |= dict.fromkeys(told, number)
    return list(joined.values())


def standing_on(
    carriers: Sequence[RecordingCandidate], release: str | None, bundle: EvidenceBundle
) -> RecordingId:
    """Return the recording that a decision stands on: the one on the release, nearest in length."""
    if len(carriers) == 1:
        return carriers[0].mb_recording_id
    duration_ms = (bundle.artifact and bundle.artifact.duration_ms) or 0

    def order(one: RecordingCandidate) -> tuple[bool, int, str]:
        releases = {edition.mb_release_id for group in one.groups for edition in group.editions}
        apart_ms = abs(one.length_ms - duration_ms) if one.length_ms and duration_ms else 0
        return release not in releases, apart_ms, one.mb_recording_id

    return min(carriers, key=order).mb_recording_id


def _is_of_the_kind_meant(recording: RecordingCandidate, bundle: EvidenceBundle) -> bool:
    return kind_of(recording) == kind_meant(bundle)


def _is_of_the_remark_meant(bundle: EvidenceBundle) -> _Sieve:
    """Return what tells whether a recording's title may be the one looked for, remark included.

    Nothing is told apart by it, unless one of them has just that remark.
    """
    meant = remark_in(set_off(title_meant(bundle)))
    is_any = meant and any(
        remark_in(set_off(one.title or "")) == meant for one in bundle.recording_candidates
    )

    def answer(recording: RecordingCandidate, _bundle: EvidenceBundle) -> Answer:
        remark = remark_in(set_off(recording.title or ""))
        return not is_any or remark <= meant or meant <= remark

    return answer


def _is_by_the_artist(bundle: EvidenceBundle) -> _Sieve:
    """Return what tells of a recording whether official records credit it to the artist.

    Copies do not speak: one more of them would change what a decision stands on. A recording of
    which no record speaks stays beside those that are the artist's for certain.
    """
    name = bundle.performer.name
    told = {
        one.group.mb_rg_id: is_by([name or ""], one.group, one.official)
        for one in candidates_of(bundle.recording_candidates)
        if _speaks(one)
    }

    def said(recording: RecordingCandidate) -> set[Answer]:
        return {told[group.mb_rg_id] for group in recording.groups if group.mb_rg_id in told}

    is_any_surely = not name or any(True in said(one) for one in bundle.recording_candidates)

    def answer(recording: RecordingCandidate, _bundle: EvidenceBundle) -> Answer:
        answers = said(recording) if name else set()
        if not answers:
            return True if is_any_surely else None
        return True if True in answers else (None if None in answers else False)

    return answer


def _speaks(one: Candidate) -> bool:
    """Whether its credit tells who performs: that of a compilation or soundtrack may be another."""
    gathers = one.role in (Role.COMPILATION, Role.SOUNDTRACK)
    return one.counts and not gathers and not is_various(one.group, one.official)


def _is_as_long(recording: RecordingCandidate, bundle: EvidenceBundle) -> bool:
    duration_ms = bundle.artifact and bundle.artifact.duration_ms
    if not duration_ms or not recording.length_ms:
        return True
    return abs(recording.length_ms - duration_ms) <= LENGTH_TOLERANCE_MS


def _apart_ms(one: RecordingCandidate, other: RecordingCandidate) -> int:
    return abs((one.length_ms or 0) - (other.length_ms or 0))


def minutes(length_ms: int | None) -> str:
    """Return a length as `3:58`."""
    if not length_ms:
        return "of unknown length"
    seconds = round(length_ms / 1_000)
    return f"{seconds // 60}:{seconds % 60:02}"


def _other_kind(recording: RecordingCandidate, bundle: EvidenceBundle, _: Answer) -> str:
    found, meant = kind_of(recording), kind_meant(bundle)
    return f"the recording on it is {_called(found) if found else f'not {_called(meant)}'}"


def _called(kind: str) -> str:
    return _KINDS.get(kind, f"a recording of the kind '{kind}'")


def _other_artist(_recording: RecordingCandidate, bundle: EvidenceBundle, answer: Answer) -> str:
    known = "known to be " if answer is None else ""
    return f"the recording on it is not {known}credited to {bundle.performer.name}"


def _other_remark(recording: RecordingCandidate, bundle: EvidenceBundle, _: Answer) -> str:
    return f"the recording on it is '{recording.title}', not '{title_meant(bundle)}'"


def _other_length(recording: RecordingCandidate, bundle: EvidenceBundle, _: Answer) -> str:
    duration_ms = bundle.artifact.duration_ms if bundle.artifact else None
    return (
        f"the recording on it is {minutes(recording.length_ms)} long, the file"
        f" {minutes(duration_ms)}"
    )
