"""The recordings of a bundle: which of them the file may hold, and which are the same version."""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import Answer
from chart_binder.domain.evidence import Artist, EvidenceBundle, RecordingCandidate
from chart_binder.domain.remarks import find_meant, is_cut, remarks_in, set_off
from chart_binder.domain.titles_and_credits import may_be_whole
from chart_binder.domain.vocabulary import RecordingId, isrc, minutes, spaced_words
from chart_binder.rules.candidates import Role, candidates_of
from chart_binder.rules.names import is_various

LENGTH_TOLERANCE_MS = 10_000
"""Transfers of one recording differ by at most this much, because of silence and speed."""


class SortedRecordings(msgspec.Struct, frozen=True):
    """The recordings of a bundle, sorted."""

    possible: Sequence[RecordingCandidate]
    """The recordings that the file may hold; the rules decide on all of them together."""
    excluded: Sequence[tuple[RecordingCandidate, str]]
    versions: Sequence[Sequence[RecordingCandidate]]
    """The possible recordings by version: one that was entered several times is one version."""
    is_version_open: bool = False
    """Whether it is unknown which version is meant, for example because none fits the title."""
    artists: frozenset[str] = frozenset()
    """The ids of the artists of the possible recordings, if several artists have one name."""

    @property
    def each_counts(self) -> bool:
        """Whether a version counts even if it leads to a compilation or to no record."""
        return self.is_version_open or bool(self.artists)


_Test = Callable[[RecordingCandidate], Answer]
_Reason = Callable[[RecordingCandidate, Answer], str]
_TestWithReason = tuple[_Test, _Reason, bool]
"""A test, the reason why it excludes a recording, and whether the wanted version is unknown."""
_Recordings = Sequence[RecordingCandidate]


def sorted_recordings(bundle: EvidenceBundle) -> SortedRecordings:
    """Return the result of `sort_recordings`; the bundle caches it."""
    return bundle.once("recordings", lambda: sort_recordings(bundle))


def sort_recordings(bundle: EvidenceBundle) -> SortedRecordings:
    """Sort the recordings of a bundle.

    A recording is excluded if it is by another artist, if it is not the part of the song that the
    wanted title names (`Song, Part 2`), if remarks call it another version (live, karaoke, in
    Spanish, `(Y Remix)`), or if its length differs from the file's. A test that would exclude every
    recording excludes none. A recording by an unknown artist is possible only if none is certainly
    by the wanted artist. A sibling (another recording of the same performance) is in every version
    that it may belong to.
    """
    recordings: _Recordings = bundle.recording_candidates
    if len(recordings) <= 1:
        return SortedRecordings(recordings, (), (recordings,))
    recordings = sorted(recordings, key=_order)
    siblings = [recording for recording in recordings if recording.is_sibling]
    possible: _Recordings = [take for take in recordings if not take.is_sibling] or recordings
    siblings = siblings if len(possible) < len(recordings) else []
    excluded: list[tuple[RecordingCandidate, str]] = []
    is_version_open = False
    is_titled = bool(title_wanted(bundle))
    tests = (_artist_test, *([_part_test, _version_test] if is_titled else []), _length_test)
    for make in tests:
        if len(possible) == 1 or is_version_open:
            break
        test, reason, is_version_open = make(bundle, possible)
        answers = [test(recording) for recording in possible]
        best = next((answer for answer in (True, None) if answer in answers), False)
        pairs = list(zip(possible, answers, strict=True))
        excluded += [(take, reason(take, answer)) for take, answer in pairs if answer is not best]
        possible = [take for take, answer in pairs if answer is best]
    versions = _versions(possible, is_open=is_version_open)
    if not is_titled:
        versions = [same for version in versions for same in _split_by_title(version)]
    if not is_titled or len({recording.remarks.part for recording in possible}) > 1:
        is_version_open = len(versions) > 1
    if siblings:
        versions = [[*version, *_siblings_of(version, siblings, versions)] for version in versions]
    ids = frozenset(take.artist.mb_artist_id or "" for take in possible if take.artist)
    artists = ids if len(ids) > 1 else frozenset()
    return SortedRecordings([*possible, *siblings], excluded, versions, is_version_open, artists)


def _siblings_of(
    version: _Recordings, siblings: _Recordings, versions: Sequence[_Recordings]
) -> _Recordings:
    """Return the siblings of a version by ISRC or length, and those that match no version."""
    return [
        take
        for take in siblings
        if _may_be_of(take, version) or not any(_may_be_of(take, rival) for rival in versions)
    ]


def _may_be_of(sibling: RecordingCandidate, version: _Recordings) -> bool:
    if _isrcs([sibling]) & _isrcs(version):
        return True
    length_ms = sibling.length_ms
    return any(length_ms and take.length_ms and _may_fit(take, length_ms) for take in version)


def recording_of(
    recordings: Sequence[RecordingCandidate], release: str | None, bundle: EvidenceBundle
) -> RecordingId:
    """Return the recording on a release; of several, prefer no sibling, then the nearest length."""
    if len(recordings) == 1:
        return recordings[0].mb_recording_id
    duration_ms = _duration_ms(bundle) or 0

    def order(recording: RecordingCandidate) -> tuple[bool, bool, int, tuple[str, str]]:
        releases = {copy.mb_release_id for group in recording.groups for copy in group.editions}
        length_ms = recording.length_ms
        apart_ms = abs(length_ms - duration_ms) if length_ms and duration_ms else 0
        return release not in releases, recording.is_sibling, apart_ms, _order(recording)

    return min(recordings, key=order).mb_recording_id


def via_sibling(
    recordings: Sequence[RecordingCandidate], decided: RecordingId | None = None
) -> str:
    """Return a text if only siblings led to a record, else an empty text."""
    if not recordings or not all(recording.is_sibling for recording in recordings):
        return ""
    sibling = min(recordings, key=lambda take: (take.mb_recording_id != decided, _order(take)))
    because = f" ({sibling.because})" if sibling.because else ""
    return f", reached through the sibling recording {sibling.mb_recording_id}{because}"


def describe_file(bundle: EvidenceBundle) -> str:
    """Return the file's title and length: `the file 'Song (live)', 4:10 long`, or `it`."""
    title, duration_ms = bundle.tags.get("title"), _duration_ms(bundle)
    quoted = f" '{title}'" if title else ""
    length = f", {format_length(duration_ms)} long" if duration_ms else ""
    return f"the file{quoted}{length}" if quoted or length else "it"


def format_length(length_ms: int | None) -> str:
    """Return a length as text, such as `3:58`."""
    return minutes(length_ms) if length_ms else "of unknown length"


def _order(recording: RecordingCandidate) -> tuple[str, str]:
    """Return a sort key: content, then id; the order of ISRCs and groups makes no difference."""
    codes = tuple(sorted(recording.isrcs or ()))
    plain = replace(recording, mb_recording_id=RecordingId(""), isrcs=codes, rg_candidates=None)
    return str(plain), recording.mb_recording_id


# The tests, in order.


def _artist_test(bundle: EvidenceBundle, recordings: _Recordings) -> _TestWithReason:
    """Test whether official records credit a recording to the artist.

    Unofficial copies do not count, because another one must not change a decision. A recording
    without any credit passes beside those that are certainly the artist's.
    """
    name = bundle.performer.name
    credited = {
        candidate.id: candidate.is_own
        for candidate in candidates_of(recordings, bundle.performer)
        # The credit of a compilation or soundtrack may differ from the recording's.
        if candidate.counts
        and (candidate.is_by_others or candidate.role not in (Role.COMPILATION, Role.SOUNDTRACK))
        and not is_various(candidate.group, candidate.official)
    }

    def answers_of(recording: RecordingCandidate) -> set[Answer]:
        ids = [group.mb_rg_id for group in recording.groups]
        return {credited[mbid] for mbid in ids if mbid in credited}

    is_any_certain = not name or any(True in answers_of(recording) for recording in recordings)

    def test(recording: RecordingCandidate) -> Answer:
        answers = answers_of(recording) if name else set()
        if not answers:
            return True if is_any_certain else None
        return True if True in answers else (None if None in answers else False)

    def reason(_: RecordingCandidate, answer: Answer) -> str:
        certainty = "known to be " if answer is None else ""
        return f"the recording on it is not {certainty}credited to {name}"

    return test, reason, False


def _part_test(bundle: EvidenceBundle, recordings: _Recordings) -> _TestWithReason:
    """Test whether a recording is the part of a song that the wanted title names.

    A title without a part may mean the first part or the whole song. If no recording is the part
    that the title names, it is unknown which one is meant.
    """
    title = title_wanted(bundle)
    part = remarks_in(title, None).part
    parts = {recording.remarks.part for recording in recordings}
    passing = {part} if part or part not in parts else {*filter(may_be_whole, parts)}
    return (
        lambda recording: recording.remarks.part in passing,
        lambda recording, _: f"the recording on it is '{recording.title}', not '{title}'",
        part not in parts,
    )


def part_mismatch(bundle: EvidenceBundle, recordings: _Recordings) -> str:
    """Return a text if no recording is the wanted part of a song; an empty text if one is."""
    title = bundle.recording_title
    title_parts = {remarks_in(text, None).part for text in (title, title_wanted(bundle))}
    if not title or not recordings or any(take.remarks.part in title_parts for take in recordings):
        return ""
    return f"the title wanted is {title!r}, that of the recording {recordings[0].title!r}"


def _version_test(bundle: EvidenceBundle, recordings: _Recordings) -> _TestWithReason:
    """Test whether a recording is the version that the wanted title names, or the plain one.

    Length counts more than remarks. If no recording of that version has the file's length, others
    of that length pass too; only those pass if they all are shorter cuts and the title names no
    version.
    """
    title, duration_ms = title_wanted(bundle), _duration_ms(bundle)
    remarks = remarks_in(title, None)
    places_meant, is_open = find_meant(remarks, [recording.remarks for recording in recordings])
    places = set(places_meant)
    remaining = [recording for place, recording in enumerate(recordings) if place not in places]
    passing = [recordings[place] for place in places_meant]
    passing += [recording for recording in remaining if _is_entered_twice(recording, passing)]
    if passing and not any(_may_fit(recording, duration_ms) for recording in passing):
        fitting = [recording for recording in remaining if _may_fit(recording, duration_ms)]
        other_versions = [recording for recording in fitting if recording not in passing]
        are_cuts = not remarks.versions and all(
            is_cut(recording.remarks) for recording in other_versions
        )
        is_open = is_open or (bool(other_versions) and not are_cuts)
        passing = other_versions if other_versions and are_cuts else [*passing, *other_versions]
    ids = {id(recording) for recording in passing}

    def reason(recording: RecordingCandidate, _: Answer) -> str:
        kind = recording.remarks.kind
        if kind != remarks.kind:
            is_kind, wanted_kind = kind or "plain", remarks.kind or "plain"
            return f"the recording on it is of the kind '{is_kind}', not '{wanted_kind}'"
        remark = f" ({comment})" if (comment := recording.disambiguation) else ""
        return f"the recording on it is '{recording.title}'{remark}, not '{title}'"

    return lambda recording: id(recording) in ids, reason, is_open


def _is_entered_twice(recording: RecordingCandidate, passing: _Recordings) -> bool:
    kind = recording.remarks.kind
    of_kind = [take for take in passing if take.remarks.kind == kind]
    return bool(_isrcs([recording]) & _isrcs(of_kind))


def title_wanted(bundle: EvidenceBundle) -> str:
    """Return the title that identifies the recording: the file's if it names a version or part."""
    title, tagged = bundle.recording_title or "", bundle.tags.get("title") or ""
    ours, theirs = remarks_in(tagged, None), remarks_in(title, None)
    return tagged if not title or ours.versions or ours.part > theirs.part == "" else title


def _length_test(bundle: EvidenceBundle, _: _Recordings) -> _TestWithReason:
    """Test whether the file's length may be a recording's."""
    duration_ms = _duration_ms(bundle)

    def reason(recording: RecordingCandidate, _: Answer) -> str:
        length, file = format_length(recording.length_ms), format_length(duration_ms)
        return f"the recording on it is {length} long, the file {file}"

    return lambda recording: _may_fit(recording, duration_ms), reason, False


def _duration_ms(bundle: EvidenceBundle) -> int | None:
    return bundle.artifact.duration_ms if bundle.artifact else None


def _may_fit(recording: RecordingCandidate, duration_ms: int | None) -> bool:
    if not duration_ms or not recording.length_ms:
        return True
    return abs(recording.length_ms - duration_ms) <= LENGTH_TOLERANCE_MS


# Versions among the possible recordings.


def _versions(recordings: _Recordings, *, is_open: bool) -> Sequence[_Recordings]:
    by_artist: dict[Artist | None, list[RecordingCandidate]] = {}
    for recording in recordings:
        by_artist.setdefault(recording.artist, []).append(recording)
    return [
        version
        for same in by_artist.values()
        for version in _versions_of_artist(same, is_open=is_open)
    ]


def _versions_of_artist(recordings: _Recordings, *, is_open: bool) -> Sequence[_Recordings]:
    """Return the recordings of each version: those of one length or with a common ISRC.

    A recording without a length may be any version, so it is in each group. Recordings of the same
    length are different versions if their kinds differ, or if each has a remark that the other
    lacks.
    """
    versions: list[list[RecordingCandidate]] = []
    for recording in sorted(recordings, key=lambda recording: recording.length_ms or 0):
        if recording.length_ms and versions and _may_fit(versions[-1][0], recording.length_ms):
            versions[-1].append(recording)
        elif recording.length_ms:
            versions.append([recording])
    untimed = [recording for recording in recordings if not recording.length_ms]
    merged = [version + untimed for version in _merged_by_isrc(versions)] or [untimed]
    return [
        version
        for timed in merged
        for same in _split_by_part(timed)
        for version in _split_by_remark(same, is_open=is_open)
    ]


def _split_by_part(version: list[RecordingCandidate]) -> Iterable[list[RecordingCandidate]]:
    """Split recordings of one length by the part of a song; keep those with one ISRC together.

    A recording without a part may be the first part, if the lengths of both are known.
    """
    if len({recording.remarks.part for recording in version}) == 1:
        return [version]
    is_first_timed = any(take.remarks.part == "1" and take.length_ms for take in version)
    by_part: dict[str, list[RecordingCandidate]] = {}
    for same in _merged_by_isrc([recording] for recording in version):
        part = max(recording.remarks.part for recording in same)
        may_be_first = is_first_timed and not part and all(take.length_ms for take in same)
        by_part.setdefault("1" if may_be_first else part, []).extend(same)
    return by_part.values()


def _split_by_remark(
    version: list[RecordingCandidate], *, is_open: bool
) -> list[list[RecordingCandidate]]:
    """Split recordings of one length by kind and remark; keep those with one ISRC together.

    A recording with a shorter remark (`live` beside `live, 1979: Lyon`) may be any of the versions,
    so it is in each group. If a remark names a performance, a recording without a remark is also a
    version by itself, and only that if `is_open` says that the wanted version is unknown.
    """
    if len(version) == 1:
        return [version]
    described = []
    for same in _merged_by_isrc([recording] for recording in version):
        remarks = [recording.remarks for recording in same]
        kinds = [remark.kinds_but_mono for remark in remarks]
        kind, words = kinds[0].intersection(*kinds), remarks[0].words
        described.append((kind, words.intersection(*(remark.words for remark in remarks)), same))
    distinct = dict.fromkeys((kind, words) for kind, words, _ in described)
    telling = frozenset().union(*(recording.remarks.telling for recording in version))
    longest = [
        (kind, words)
        for kind, words in distinct
        if not any(
            kind == other_kind and words < other_words and (words or not other_words & telling)
            for other_kind, other_words in distinct
        )
    ]
    return [
        [
            recording
            for own_kind, own_words, same in described
            if own_kind == kind and own_words <= words
            if own_words or not (is_open and words & telling)
            for recording in same
        ]
        for kind, words in longest
    ]


def _split_by_title(version: _Recordings) -> Sequence[_Recordings]:
    """Split recordings by the words of their titles, because different songs may share an ISRC."""
    by_title: dict[tuple[object, ...], list[RecordingCandidate]] = {}
    for recording in version:
        title, remarks = recording.title or "", recording.remarks
        song = frozenset(spaced_words(title).split()).difference(
            spaced_words(set_off(title)).split()
        )
        by_title.setdefault((remarks.kind, remarks.telling, song), []).append(recording)
    return list(by_title.values())


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
    return {isrc(code) for recording in recordings for code in recording.isrcs or ()} - {""}
