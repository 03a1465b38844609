"""Matching of recordings with a file: how to search for them, and which may be meant."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from chart_binder.domain.evidence import RecordingCandidate, RecordingFlags
from chart_binder.domain.naming import minutes
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import MBID, ArtistId, RecordingId, fold
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.evidence import partial_date
from chart_binder.musicbrainz.web_service import Recording

MAX_RECORDINGS = 5
"""Recordings of one song that are looked into."""
LENGTH_TOLERANCE_MS = 7_000
"""Files of one recording differ by silence at either end."""
_MIN_SCORE = 50
_MIN_LIKENESS = 0.9
_MIN_LENGTH_COMPARED = 8
"""In shorter texts one letter makes another name: Queen, Queens."""
_MAX_COMPARED = 400
"""A tag may have any length, and comparing costs its square."""
_MAX_SEARCHED = 200
"""Longer titles and names may not fit into a request."""
_MAX_ISRCS = 3

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Search:
    """A way to find recordings; `wanted` describes what it looks for."""

    wanted: str
    find: Callable[[], "Found"]


class Found(NamedTuple):
    """What a search found.

    `unread` are the recordings that may be meant too, and are too many to be looked into; `unseen`
    says in words what the search did not show.
    """

    recordings: tuple[Recording, ...] = ()
    unread: tuple[Recording, ...] = ()
    unseen: str | None = None


_ISRC = re.compile(r"[A-Z]{2}[A-Z0-9]{3}\d{7}", re.ASCII)
"""Without its hyphens (isrc.ifpi.org, ISO 3901)."""


def searches(client: Client, tags: TrackTags) -> Iterator[Search]:
    """Yield the searches that the tags allow, the surest first; warn of an impossible id."""
    if recording_id := _checked(MBID, tags.recording_mbid or "", "recording id"):
        known = RecordingId(recording_id.lower())
        yield Search(f"recording with the id {known}", partial(_by_id, client, known, tags))
    plain = (isrc.replace("-", "").replace(" ", "").upper() for isrc in tags.isrcs)
    for isrc in [code for code in plain if _checked(_ISRC, code, "ISRC")][:_MAX_ISRCS]:
        yield Search(f"recording with the ISRC {isrc}", partial(_by_isrc, client, isrc, tags))
    if tags.artist and tags.title:
        length_ms = tags.duration_ms
        length = "" if length_ms is None else f" of about {minutes(length_ms)}"
        wanted = f"{tags.title!r} by {tags.artist!r}{length}"
        yield Search(wanted, partial(_by_name, client, tags))


def _checked(form: re.Pattern[str], text: str, name: str) -> str | None:
    if not text or form.fullmatch(text):
        return text
    _log.warning(
        "a tag is not what it should be", extra={"found": text[:_MAX_SEARCHED], "expected": name}
    )
    return None


def _by_id(client: Client, recording_id: RecordingId, tags: TrackTags) -> Found:
    known = client.recording(recording_id)
    if known is None:
        return Found()
    if _is_other_song(known, tags):
        _log.warning(
            "the recording id in the tags is of another song; the id is believed",
            extra={
                "tags": f"{tags.title!r} by {tags.artist!r}",
                "id": f"{known.title!r} by {known.artist_credit_phrase!r}",
            },
        )
    return Found((known,))


def _by_isrc(client: Client, isrc: str, tags: TrackTags) -> Found:
    return _best(client.recordings_with(isrc), tags)


def _by_name(client: Client, tags: TrackTags) -> Found:
    """Search by artist and title; what finds more than a page shows is made narrower."""
    artist = main_artist(tags.artist or "")[:_MAX_SEARCHED]
    title = bare_title(tags.title or "")[:_MAX_SEARCHED]
    length_ms = None
    if tags.duration_ms is not None:
        least_ms = max(0, tags.duration_ms - LENGTH_TOLERANCE_MS)
        length_ms = least_ms, tags.duration_ms + LENGTH_TOLERANCE_MS
    for query in (
        ws.search_recordings(artist, title, length_ms),
        ws.search_recordings_loosely(artist, title),
    ):
        hits, count = client.search(query)
        found = plausible(hits, tags)
        if count > len(hits):
            unseen = f"a search shows {len(hits)} of {count} recordings"
            narrower = _narrower(client, tags, found.recordings, length_ms)
            if narrower is None:
                narrower = found._replace(unseen=unseen)
            if narrower.recordings:
                return narrower
        elif found.recordings:
            return found
    return Found()


_NARROWER: tuple[tuple[tuple[str, ...], ...], ...] = (
    ((),),
    (("status:official",),),
    (
        ("status:official", "primarytype:album"),
        ("status:official", "primarytype:single"),
    ),
)
"""Clauses of searches, the widest first; a row is complete if each search shows all it finds."""


def _narrower(
    client: Client,
    tags: TrackTags,
    found: tuple[Recording, ...],
    length_ms: tuple[int, int] | None,
) -> Found | None:
    """Search by the artist's id, then among official records, then among albums and singles.

    `found` are those among the hits shown that may be meant; the artist is theirs, or else that of
    the tags. Return None where the artist's id is not known.
    """
    artists = [credit.artist.id for one in found for credit in one.credits[:1]]
    tagged = (tags.artist_mbid or "").lower()
    artists += [ArtistId(tagged)] if MBID.fullmatch(tagged) else []
    if not artists:
        return None
    title = bare_title(found[0].title or tags.title or "" if found else tags.title or "")
    seen = {one.id: one for one in found}
    unseen = None
    for row in _NARROWER:
        unseen = None
        for only in row:
            query = ws.search_recordings_by(
                artists[0], [title[:_MAX_SEARCHED]], length_ms, only=only
            )
            hits, count = client.search(query)
            if count > len(hits):
                kinds = f" ({', '.join(only)})" if only else ""
                unseen = f"a search{kinds} shows {len(hits)} of {count} recordings"
            seen |= {one.id: one for one in hits}
        if unseen is None:
            break
    return plausible(seen.values(), tags)._replace(unseen=unseen)


def plausible(found: Iterable[Recording], tags: TrackTags) -> Found:
    """Return the recordings by this artist, of this title and length.

    Covers and karaoke are by others; a live or remixed recording of the song is kept only where
    the file says that it is one, or nothing else was found.
    """
    fitting = [recording for recording in found if _fits(recording, tags)]
    # The title of an album (`Live Killers`) is a hint, so both kinds are kept.
    kinds = {_kind(tags.title, None), _kind(tags.title, tags.album)}
    same = [one for one in fitting if _kind(one.title, one.disambiguation) in kinds]
    return _best(same or fitting, tags)


def _best(found: Iterable[Recording], tags: TrackTags) -> Found:
    """Return at most five recordings to read, those first that agree best with the tags.

    Of more than five they are the best and the earliest of the others: a much later one would
    change no decision. Where releases are shown, one that is on none is left out.
    """
    ranked = sorted(found, key=lambda one: _distance(one, tags))
    if len(ranked) <= MAX_RECORDINGS:
        return Found(tuple(ranked))
    if any(one.release_list for one in ranked):
        ranked = [one for one in ranked if one.release_list]
    early = sorted(ranked[1:], key=lambda one: partial_date(one.first_release_date).last)
    unread = early[MAX_RECORDINGS - 1 :]
    return Found(tuple(one for one in ranked if one not in unread), tuple(unread))


def _is_other_song(recording: Recording, tags: TrackTags) -> bool:
    """Whether title and artist both say that a file holds another song.

    Names in another script say nothing: they may be transliterations.
    """
    title, tagged = recording.title or "", tags.title or ""
    return bool(
        title.isascii()
        and tagged.isascii()
        and title
        and tagged
        and tags.artist
        and not same_title(title, tagged)
        and not _is_by(recording, tags)
    )


_BACKING = re.compile(
    r"\b(?:instrumental|karaoke|off vocal|backing track|a ?cappella)\b|カラオケ|インスト",
    re.IGNORECASE,
)


def _fits(recording: Recording, tags: TrackTags) -> bool:
    is_backing = bool(_BACKING.search(recording.disambiguation or ""))
    return (
        recording.video != "true"
        and (not is_backing or bool(_BACKING.search(tags.title or "")))
        and recording.likelihood >= _MIN_SCORE
        and same_title(recording.title or "", tags.title or "")
        and _is_by(recording, tags)
        and (_length_apart_ms(recording, tags) or 0) <= LENGTH_TOLERANCE_MS
    )


def _is_by(recording: Recording, tags: TrackTags) -> bool:
    if any(credit.artist.id == tags.artist_mbid for credit in recording.credits):
        return True
    artist = tags.artist or ""
    wanted = {artist, main_artist(artist)}
    return any(same_name(name, other) for name in _names(recording) for other in wanted)


def _names(recording: Recording) -> Iterator[str]:
    names: list[str | None] = [recording.artist_credit_phrase]
    for credit in recording.credits:
        names += [credit.name, credit.artist.name, credit.artist.sort_name]
        names += [alias.alias for alias in credit.artist.alias_list]
    return filter(None, names)


def _kind(title: str | None, comment: str | None) -> RecordingFlags:
    return RecordingCandidate(RecordingId(""), title=title, disambiguation=comment).intent


def _distance(recording: Recording, tags: TrackTags) -> tuple[bool, bool, bool, int, int]:
    albums = (release.title or "" for release in recording.release_list)
    apart_ms = _length_apart_ms(recording, tags)
    return (
        not same_title(recording.title or "", tags.title or ""),
        not _is_by(recording, tags),
        not any(same_title(album, tags.album) for album in albums) if tags.album else False,
        LENGTH_TOLERANCE_MS if apart_ms is None else apart_ms,
        -recording.likelihood,
    )


def _length_apart_ms(recording: Recording, tags: TrackTags) -> int | None:
    if recording.length_ms is None or tags.duration_ms is None:
        return None
    return abs(recording.length_ms - tags.duration_ms)


# Likeness of titles and names.

_QUOTES = str.maketrans("", "", "'’‘`´ʼ")
_REMARK = re.compile(
    r"[(\[（［]([^)\]）］]*)[)\]）］]|\s[-–—]\s(.*)$|\s((?:feat|ft)\.?\s.*)$", re.IGNORECASE
)
_SAME_SONG = re.compile(
    r"\b(?:re-?master(?:ed)?|feat|ft|featuring|(?:album|original|single) version|explicit|stereo"
    r"|mono|live|demo|acoustic|unplugged|radio (?:edit|version)|bonus track|deluxe)\b"
    r"|リマスター|ライブ|ライヴ|^\s*\d{4}\s*$",
    re.IGNORECASE,
)
"""Remarks that do not make another song; the kind of performance is compared separately."""
_NUMBER = re.compile(r"\d+|[ivx]+")
_GUEST = re.compile(r"\s+(?:feat\.?|ft\.?|featuring|vs\.?)\s+|\s+/\s+|\s*;\s*", re.IGNORECASE)


def same_title(one: str, other: str) -> bool:
    """Whether two titles name the same song; a part 2 is not a part 1."""
    return _alike(words_of(bare_title(one)), words_of(bare_title(other)))


def same_name(one: str, other: str) -> bool:
    """Whether two names are one artist's, in any order of words (`Utada, Hikaru`)."""
    return _alike(
        *(tuple(sorted(set(words_of(name)) - {"the"} or {"the"})) for name in (one, other))
    )


def bare_title(title: str) -> str:
    """Return a title without the remarks that do not make another song."""
    return without_remarks(title[:_MAX_COMPARED], lambda remark: bool(_SAME_SONG.search(remark)))


def without_remarks(title: str, drops: Callable[[str], bool]) -> str:
    """Return a title without the remarks that are to be dropped; whole where nothing is left."""

    def kept(remark: re.Match[str]) -> str:
        text = next(filter(None, remark.groups()), "")
        return " " if drops(text) else remark[0]

    return _REMARK.sub(kept, title).strip() or title


def main_artist(artist: str) -> str:
    """Return an artist's name without guests."""
    return _GUEST.split(artist, maxsplit=1)[0].strip() or artist


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text without case, accents or punctuation."""
    text = fold(text[:_MAX_COMPARED].strip())
    bare = text.translate(_QUOTES).replace("&", " and ")
    spaced = "".join(char if char.isalnum() or char.isspace() else " " for char in bare)
    return tuple(spaced.split()) or (text,)


def _alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    from rapidfuzz import fuzz

    if "".join(one) == "".join(other):
        return True
    if [*filter(_NUMBER.fullmatch, one)] != [*filter(_NUMBER.fullmatch, other)]:
        return False
    texts = " ".join(one), " ".join(other)
    if min(map(len, texts)) < _MIN_LENGTH_COMPARED:
        return False
    return fuzz.ratio(*texts, score_cutoff=100 * _MIN_LIKENESS) > 0
