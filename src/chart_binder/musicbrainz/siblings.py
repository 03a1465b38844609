"""Sibling recordings: other recordings at MusicBrainz that are the same performance.

A remaster, a duplicate, or the copy on a compilation often has a recording id of its own. So has a
live take or a re-recording of the song, which is another performance.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from chart_binder.domain.evidence import (
    BACKING,
    Artist,
    EvidenceBundle,
    RecordingCandidate,
    RecordingFlags,
    intents_in,
    set_off,
)
from chart_binder.domain.naming import minutes
from chart_binder.domain.vocabulary import ArtistId, RecordingId, ReleaseGroupId, isrc
from chart_binder.errors import LookupFailedError, NothingFoundError
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.evidence import candidate_of
from chart_binder.musicbrainz.matching import (
    credited_words,
    same_title,
    without_remarks,
    words_of,
)
from chart_binder.musicbrainz.web_service import Recording

SIBLING = "sibling"
"""The `relation` of a recording candidate that is another recording of the performance."""
LENGTH_APART_MS = 3_000
"""Recordings of one performance differ by this much at most, if nothing tells why."""
_OTHER_VERSIONS = frozenset({"Live", "Remix", "DJ-mix", "Demo"})
"""Secondary types of records whose recordings are other versions."""
MARKED_APART_MS = 5_000
"""The same, where one of them is marked as a remaster or a single edit."""
_PERHAPS_APART_MS = 15_000
_PERHAPS_APART = 0.10
"""Recordings that differ by more than both are different versions, though nothing says so."""


class Performance(msgspec.Struct, frozen=True):
    """What tells whether two recordings are one performance.

    `credit` is the artist credit as one text, `first_artist` the one credited first; `artists` are
    all who are credited, or empty if not all are known.
    """

    title: str
    comment: str
    length_ms: int | None
    isrcs: frozenset[str]
    credit: str
    first_artist: ArtistId | None
    artists: frozenset[ArtistId]
    flags: RecordingFlags
    is_video: bool = False


def performance_of(recording: Recording) -> Performance:
    """Return what MusicBrainz says about a recording."""
    title, comment = recording.title or "", recording.disambiguation or ""
    artists = [credit.artist.id for credit in recording.credits]
    return Performance(
        title,
        comment,
        recording.length_ms,
        _codes(recording.isrc_list),
        recording.artist_credit_phrase or "",
        artists[0] if artists else None,
        frozenset(artists),
        intents_in(title, comment),
        recording.video == "true",
    )


def performance_in(candidate: RecordingCandidate, artist: Artist) -> Performance:
    """Return what evidence says about a recording; `artist` is that of the evidence."""
    return Performance(
        candidate.title or "",
        candidate.disambiguation or "",
        candidate.length_ms,
        _codes(candidate.isrcs or ()),
        artist.name or "",
        artist.mb_artist_id,
        frozenset(),
        candidate.intent,
    )


def performances_in(bundle: EvidenceBundle) -> dict[RecordingId, Performance]:
    """Return the recordings of the evidence that are no siblings, by their ids."""
    found = (one for one in bundle.recording_candidates if not one.is_sibling)
    return {one.mb_recording_id: performance_in(one, bundle.performer) for one in found}


def siblings_among(
    others: Iterable[Recording], own: Mapping[RecordingId, Performance]
) -> list[tuple[Recording, str]]:
    """Return the recordings that are the same performance as any of `own`, each with the reason."""
    found: dict[RecordingId, tuple[Recording, str]] = {}
    for one in others:
        if one.id not in own and one.id not in found:
            reasons = (same_performance(known, performance_of(one)) for known in own.values())
            if because := next(filter(None, reasons), None):
                found[one.id] = one, because
    return list(found.values())


def same_performance(recording: Performance, other: Performance) -> str | None:
    """Return why two recordings are the same performance, in words; `None` if they may not be.

    They have the same artist credit and title, without remarks that make no other version, and an
    ISRC in common or about the same length. A live take, remix, demo, acoustic version,
    re-recording, instrumental, cover or music video is the same performance as nothing else. A mono
    mix is not that without the mark, but for an ISRC in common; an edit only if it has the length.
    A title that many tracks of an artist have (`Intro`) needs an ISRC in common, as does a comment
    that tells the two apart (`1963 recording`, `in Italian`).
    """
    if any(map(is_other_performance, (recording, other))):
        return None
    if not (_is_same_title(recording, other) and _is_same_credit(recording, other)):
        return None
    apart_ms = _apart_ms(recording, other)
    is_near = apart_ms is not None and apart_ms <= _tolerance_ms(recording, other)
    if _is_edit(recording) != _is_edit(other) and not is_near:
        return None
    if shared := recording.isrcs & other.isrcs:
        return f"it has the same ISRC {min(shared)}"
    needs_isrc = title_key(recording.title) in _COMMON_TITLES
    needs_isrc |= _telling_words(recording.comment) != _telling_words(other.comment)
    if needs_isrc or not is_near or recording.flags.is_mono != other.flags.is_mono:
        return None
    longer_ms = (other.length_ms or 0) - (recording.length_ms or 0)
    length = f"is {abs(longer_ms) / 1_000:.1f} s {'longer' if longer_ms > 0 else 'shorter'}"
    return f"it has the same artist and title, and {length if longer_ms else 'the same length'}"


def may_be_same_performance(recording: Performance, other: Performance) -> bool:
    """Whether two that differ in length, guests or comment may be the same performance after all.

    Neither is marked as another version, the artist credited first is the same, and the lengths are
    near, or one is not known: a transfer at another speed, a longer fade, a guest who is not named.
    """
    if any(map(is_other_performance, (recording, other))):
        return False
    is_by_same = bool(recording.first_artist) and recording.first_artist == other.first_artist
    if not _is_same_title(recording, other):
        return False
    if not (is_by_same or _is_same_credit(recording, other)):
        return False
    if _is_edit(recording) != _is_edit(other) or recording.flags.is_mono != other.flags.is_mono:
        return False
    apart_ms = _apart_ms(recording, other)
    shorter_ms = min(recording.length_ms or 0, other.length_ms or 0)
    return apart_ms is None or apart_ms <= perhaps_apart_ms(shorter_ms)


def perhaps_apart_ms(length_ms: int) -> int:
    """Return by how much a recording may be longer that may be the same performance."""
    return round(max(_PERHAPS_APART_MS, _PERHAPS_APART * length_ms))


def is_other_performance(one: Performance) -> bool:
    """Whether a recording is of a kind that is never the same performance as another recording."""
    flags = one.flags
    remark = f"{set_off(one.title)} / {one.comment}"
    return (
        one.is_video
        or not one.title
        or _UNNAMED.match(one.title) is not None
        or bool(flags.is_live or flags.is_remix or flags.is_demo or flags.is_acoustic)
        or _OTHER_PERFORMANCE.search(_REMASTERED.sub(" ", remark)) is not None
    )


def is_on_other_versions_only(candidate: RecordingCandidate) -> bool:
    """Whether a recording stands on records of live takes, remixes or demos alone, or on none.

    Then it is such a version, though neither its title nor its comment says so.
    """
    return all(_OTHER_VERSIONS.intersection(group.types[1]) for group in candidate.groups)


def described(recording: Recording) -> str:
    """Name a recording in a sentence: title, comment, artist and length."""
    comment = f" ({recording.disambiguation})" if recording.disambiguation else ""
    length = f", {minutes(recording.length_ms)}," if recording.length_ms else ""
    return f"{recording.title!r}{comment} by {recording.artist_credit_phrase}{length}"


def _codes(written: Iterable[str]) -> frozenset[str]:
    return frozenset(map(isrc, written)) - {""}


_UNNAMED = re.compile(r"^\[[^\]]*\]$")
"""`[untitled]`, `[silence]`: a description in place of a title, which many recordings share."""
_REMASTER = (
    r"(?:\b(?:19|20)\d\d\s+)?\b(?:digital(?:ly)?\s+)?re-?master(?:ed|ing|s)?\b"
    r"(?:\s+version\b)?(?:\s+(?:in\s+)?(?:19|20)\d\d\b)?(?:\s+version\b)?|リマスター"
)
_EDIT = (
    r"\b(?:(?:single|radio|7[\"”″]|''|video)[-\s]+)(?:edit|version|mix)\b"
    r"|\b(?:edited|edit|clean|censored)\b"
)
_REMASTERED = re.compile(_REMASTER, re.IGNORECASE)
_NO_VERSION = re.compile(
    rf"{_REMASTER}|{_EDIT}"
    r"|\b(?:original|album|lp|main|standard|studio|stereo|mono|full[- ]length|explicit)"
    r"[-\s]+(?:version|mix|recording)\b"
    r"|\b(?:stereo|mono|explicit|bonus track|deluxe|(?:feat(?:uring)?|ft)\b[^/]*)"
    r"|^\s*(?:19|20)\d\d\s*$",
    re.IGNORECASE,
)
"""Remarks that make no other performance."""
_OTHER_PERFORMANCE = re.compile(
    rf"{BACKING}"
    r"|\bre-?(?:record(?:ed|ing)|cut)\b|\bnew(?:ly)? (?:recording|recorded|version)\b"
    r"|\bself[ -]cover\b|セルフカバー|再録|新録|\b\w+['’]s version\b|\b(?:19|20)\d\d version\b"
    r"|\b(?:cover|tribute|in the style of|made famous by|parody|medley|mash-?up"
    r"|remake|dj[- ]mix(?:ed)?|mixed|megamix|continuous|slowed|sped[- ]up|nightcore)\b"
    r"|\b(?:atmos|surround|quad(?:raphonic)?|binaural|5\.1)\b"
    r"|\b(?:alternat(?:e|ive)|outtakes?|rehearsal|sessions?|rough|unfinished|takes? \d+"
    r"|early (?:version|mix|take)|work in progress|different (?:version|mix|take))\b"
    r"|\b(?:19|20)\d\d (?:stereo |mono )?mix\b"
    r"|\b(?:extended|long|short|instr\.?|orchestral|symphonic|orchestra|piano|dub|club)"
    r" (?:version|mix)\b"
    r"|\b(?:english|german|french|spanish|italian|japanese|korean|chinese|mandarin|cantonese"
    r"|portuguese|swedish|dutch|russian|polish|latin|tv|movie|film|demo) (?:size|version)\b"
    r"|\bmusic video\b|\bcommentary\b|\binterview\b",
    re.IGNORECASE,
)
_COMMON_TITLES = frozenset(
    "intro outro interlude skit prelude introduction finale overture untitled".split()  # noqa: SIM905
)
_REMASTERED_BY = re.compile(
    rf"(?<!\w)(?:(?!\b(?:recording|take|mix|ver(?:sion)?)\b)[^,;/]){{0,60}}"
    rf"(?:{_REMASTER})(?!\s+of\b)[^,;/]*",
    re.IGNORECASE,
)
"""The part of a comment that is about a remaster: who made it, when, and for what."""
_TELLS_NOTHING = re.compile(
    r"\b(?:original|album|lp|main|standard|studio|stereo|mono|full|version|ver|recording|edition"
    r"|digital|cd|vinyl|sacd|dsd|hd|hi-?res|\d+[ -]?bit|[\d.]+ ?khz|mastered for itunes"
    r"|single|the|uncensored)\b",
    re.IGNORECASE,
)
"""Words of a comment that tell a recording from no other, beside those of `_NO_VERSION`."""
_EDITED = re.compile(_EDIT, re.IGNORECASE)
_SPELLINGS = {"pt": "part", "pts": "parts", "n": "and"}


def bare_song(title: str) -> str:
    """Return a title without the remarks that make no other performance."""
    return without_remarks(title, _says_no_version)


def _says_no_version(remark: str) -> bool:
    return not any(map(str.isalnum, _NO_VERSION.sub(" ", remark)))


def _is_same_title(one: Performance, other: Performance) -> bool:
    return title_key(one.title) == title_key(other.title)


def title_key(title: str) -> str:
    """Return what a title is compared by: its letters and digits, without such remarks."""
    return "".join(_SPELLINGS.get(word, word) for word in words_of(bare_song(title)))


def _telling_words(comment: str) -> frozenset[str]:
    """Return the words of a comment that tell a recording from others of the song."""
    for harmless in (_REMASTERED_BY, _NO_VERSION, _TELLS_NOTHING):
        comment = harmless.sub(" ", comment)
    return frozenset(filter(str.isalnum, words_of(comment)))


def _is_same_credit(one: Performance, other: Performance) -> bool:
    """Whether the same artists are credited, by their ids or else by their names.

    Guests may be named in the credit or in the title.
    """
    if one.artists and one.artists == other.artists:
        return True
    ids, others = ({*each.artists, each.first_artist} - {None} for each in (one, other))
    is_namesake = ids and others and not ids & others
    names, same = (credited_words(each.credit, each.title) for each in (one, other))
    return bool(one.credit) and not is_namesake and names == same


def _is_edit(one: Performance) -> bool:
    is_said = _EDITED.search(f"{set_off(one.title)} / {one.comment}") is not None
    return is_said or bool(one.flags.is_radio_edit)


def _apart_ms(one: Performance, other: Performance) -> int | None:
    if not one.length_ms or not other.length_ms:
        return None
    return abs(one.length_ms - other.length_ms)


def _tolerance_ms(one: Performance, other: Performance) -> int:
    is_marked = any(
        _is_edit(each) or _REMASTERED.search(f"{set_off(each.title)} / {each.comment}")
        for each in (one, other)
    )
    return MARKED_APART_MS if is_marked else LENGTH_APART_MS


# Records that a model names: what they add to the evidence.

_MAX_SIBLINGS = 3
"""Recordings of one group that are brought in."""


def bring_in(
    client: Client, bundle: EvidenceBundle, kind: str, mbid: str
) -> tuple[RecordingCandidate, ...]:
    """Return the recordings that a record at MusicBrainz adds to the evidence, as siblings.

    A `kind` of `release-group` adds those on it that are the same performance, `recording` itself;
    each has all its releases. Raises `NothingFoundError`, which says why it adds none, and
    `LookupFailedError` if MusicBrainz could not be asked, or not everything was read.
    """
    played, where, unread = _played(client, kind, mbid)
    known = {one.mb_recording_id for one in bundle.recording_candidates}
    siblings = siblings_among(
        (one for one in played if one.id not in known), performances_in(bundle)
    )
    if not siblings and unread:
        raise LookupFailedError(unread)
    if not siblings:
        raise NothingFoundError(_why_none(bundle, played, where))
    home = bundle.performer.country
    found = [
        replace(candidate_of(one, releases, home), relation=SIBLING, because=because)
        for one, because in siblings[:_MAX_SIBLINGS]
        if (releases := client.releases_of(one.id))
    ]
    if not found:
        raise NothingFoundError(f"{described(siblings[0][0])} is on no release")
    return tuple(found)


def _played(client: Client, kind: str, mbid: str) -> tuple[list[Recording], str, str]:
    """Return the recordings of a record, where they are, and what of it was not read."""
    if kind == "recording":
        if recording := client.recording(RecordingId(mbid)):
            return [recording], "", ""
        raise NothingFoundError(f"MusicBrainz knows no recording with the id {mbid}")
    group = client.release_group(ReleaseGroupId(mbid))
    if group is None:
        raise NothingFoundError(f"MusicBrainz knows no release group with the id {mbid}")
    releases, count = client.releases_with(group.id)
    tracks = (track for one in releases for track in one.tracks)
    where, unread = f" on {group.title!r}", ""
    if len(releases) < count:
        unread = f"of {count} releases of {group.title!r}, {len(releases)} were read"
    return [track.recording for track in tracks if track.recording], where, unread


def _why_none(bundle: EvidenceBundle, played: Iterable[Recording], where: str) -> str:
    """Return why no recording of a record is a sibling."""
    titles = {one.title for one in bundle.recording_candidates} | {bundle.recording_title}
    wanted = [title for title in titles if title]
    alike = [
        one for one in played if any(same_title(one.title or "", title) for title in wanted)
    ] or ([] if where else [*played])
    if not alike:
        return f"no track{where} has the title {bundle.recording_title!r}"
    if any(one.mb_recording_id == alike[0].id for one in bundle.recording_candidates):
        return f"the evidence has the recording{where} already, with all its releases"
    return (
        f"{described(alike[0])}{where} is not the same performance: another artist, title, kind,"
        " comment or length"
    )
