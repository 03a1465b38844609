"""Search for the recording of a file by its tags, and select the recordings that may be meant."""

import dataclasses
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

from chart_binder.domain.evidence import Artist
from chart_binder.domain.remarks import find_meant, remarks_in
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.titles_and_credits import (
    JOIN_WORDS,
    main_artist,
    part_of,
    parts_of,
    without_noise,
)
from chart_binder.domain.vocabulary import MBID, ArtistId, EntityKind, RecordingId, fold, minutes
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.web_service import Credit, Recording, partial_date

MAX_RECORDINGS = 5
LENGTH_TOLERANCE_MS = 7_000
"""Files of one recording differ in the silence at their ends."""
_FRAGMENT_MS, _FAR_APART_MS = 10_000, 30_000
_MIN_SCORE = 50
_MIN_LIKENESS = 0.9
MIN_LENGTH_COMPARED = 8
"""In a shorter text, one letter makes another name: Queen, Queens."""
_MAX_COMPARED = 400
"""A tag may have any length, and the time to compare it grows with the square."""
_MAX_ISRCS = 3

_log = logging.getLogger(__name__)


class Search(NamedTuple):
    """A search for recordings, and the description of what it looks for."""

    description: str
    find: Callable[[], "Matches"]


class Matches(NamedTuple):
    """The results of a search: the `recordings` that may be meant, at most five.

    `unread` are further recordings that may be meant. `doubt` says why the right recording may not
    be among the results. `untimed` have no length, while others by the same artist have the length
    of the file. `is_by_name` is true if the search was for artist and title, not for an id.
    """

    recordings: tuple[Recording, ...] = ()
    unread: tuple[Recording, ...] = ()
    doubt: str | None = None
    untimed: tuple[Recording, ...] = ()
    is_by_name: bool = False


_ISRC = re.compile(r"[A-Z]{2}[A-Z0-9]{3}\d{7}", re.ASCII)
"""An ISRC without its hyphens (isrc.ifpi.org, ISO 3901)."""


FindArtists: TypeAlias = Callable[[], frozenset[ArtistId]]
"""Returns the artists who may have made the other files of an album; empty if unknown."""


def searches(
    client: Client, tags: TrackTags, of_album: FindArtists = frozenset
) -> Iterator[Search]:
    """Yield the searches that the tags allow, the most certain first; log an invalid id."""
    if tagged_id := _checked(MBID, tags.recording_mbid or "", "recording id"):
        recording_id = RecordingId(tagged_id.lower())
        description = f"recording with the id {recording_id}"
        yield Search(description, partial(_by_id, client, recording_id, tags))
    plain = (isrc.replace("-", "").replace(" ", "").upper() for isrc in tags.isrcs)
    for isrc in [code for code in plain if _checked(_ISRC, code, "ISRC")][:_MAX_ISRCS]:
        description = f"recording with the ISRC {isrc}"
        yield Search(description, partial(_by_isrc, client, isrc, tags, of_album))
    if tags.artist and tags.title:
        length_ms = tags.duration_ms
        length = "" if length_ms is None else f" of about {minutes(length_ms)}"
        description = f"{tags.title!r} by {tags.artist!r}{length}"
        yield Search(description, partial(_by_name, client, tags, of_album))


def first_found(attempts: Iterable[Search]) -> Matches:
    """Return the results of the first search that has any."""
    results = (search.find() for search in attempts)
    return next((matches for matches in results if matches.recordings), Matches())


def _checked(form: re.Pattern[str], text: str, name: str) -> str | None:
    if not text or form.fullmatch(text):
        return text
    _log.warning(
        "a tag is not what it should be", extra={"found": text[:_MAX_COMPARED], "expected": name}
    )
    return None


def _by_id(client: Client, recording_id: RecordingId, tags: TrackTags) -> Matches:
    recording = client.recording(recording_id)
    if recording is None:
        return Matches()
    if _is_other_song(recording, tags):
        _log.warning(
            "the recording id in the tags belongs to another song; the id is used",
            extra={
                "tags": f"{tags.title!r} by {tags.artist!r}",
                "id": f"{recording.title!r} by {recording.artist_credit_phrase!r}",
            },
        )
    elif _is_of_other_length(recording, tags):
        _log.warning(
            "the recording id in the tags belongs to a recording of another length; the id is used",
            extra={
                "file": f"{minutes(tags.duration_ms or 0)} long",
                "id": f"{recording.title!r}, {minutes(recording.length_ms or 0)} long",
            },
        )
    return Matches((recording,))


def _by_isrc(client: Client, isrc: str, tags: TrackTags, of_album: FindArtists) -> Matches:
    hits: Sequence[Recording] = client.recordings_with(isrc)
    if tags.title:
        titled = [hit for hit in hits if same_title(hit.title or "", tags.title)]
        hits = titled or hits
    if len(set(map(first_artist, hits))) > 1:
        tags = with_current_ids(client, tags)
    return _best(_meant(hits, tags, of_album), tags, of_album)


def with_current_ids(client: Client, tags: TrackTags) -> TrackTags:
    """Return tags with the current ids of release, group and artist: they may have been merged."""

    def current(kind: EntityKind, mbid: str | None) -> str | None:
        return client.current_id(kind, mbid.lower()) if mbid and MBID.fullmatch(mbid) else mbid

    return dataclasses.replace(
        tags,
        release_mbid=current("release", tags.release_mbid),
        release_group_mbid=current("release-group", tags.release_group_mbid),
        artist_mbid=current("artist", tags.artist_mbid),
    )


def _by_name(client: Client, tags: TrackTags, of_album: FindArtists) -> Matches:
    artist = main_artist(tags.artist or "")
    parts = _parts_of(artist)
    names = [artist, *parts[:1]] if len(parts) > 1 else [artist]
    title = bare_title(tags.title or "")
    length_ms = None
    titles = _spellings(title)
    if tags.duration_ms is not None:
        least_ms = max(0, tags.duration_ms - LENGTH_TOLERANCE_MS)
        length_ms = least_ms, tags.duration_ms + LENGTH_TOLERANCE_MS
    queries: list[ws.SearchRecordings | ws.SearchLoosely] = [
        ws.SearchRecordings(name, titles, length_ms, credit=tags.artist or "") for name in names
    ]
    loosely = ws.SearchLoosely("recording", title, artist, ws.PAGE, tags.artist or "")
    for query in (*queries, loosely):
        hits, count = client.search(query)
        if len({first_artist(hit) for hit in hits if _fits(hit, tags)}) > 1:
            tags = with_current_ids(client, tags)
        matches = plausible(hits, tags, of_album)
        if count > len(hits):
            doubt = f"a search shows {len(hits)} of {count} recordings"
            narrower = _narrower(client, tags, matches.recordings, length_ms, of_album)
            if narrower is None:
                narrower = matches._replace(doubt=matches.doubt or doubt)
            if narrower.recordings:
                return narrower
        elif matches.recordings:
            return matches
    return Matches()


def _spellings(title: str) -> list[str]:
    """Return the title; if it names a part, add MusicBrainz's spelling: `Song, Part 2`."""
    part, song = part_of(title)
    return [*dict.fromkeys([title, f"{song}, Part {part}"])] if part else [title]


_NARROWER: tuple[tuple[tuple[ws.Clause, ...], ...], ...] = (
    ((),),
    (("status:official",),),
    (
        ("status:official", "primarytype:album"),
        ("status:official", "NOT primarytype:album"),
    ),
)
"""Clauses of searches, the widest first; a row is complete if every search shows all results."""


def _narrower(
    client: Client,
    tags: TrackTags,
    recordings: tuple[Recording, ...],
    length_ms: tuple[int, int] | None,
    of_album: FindArtists,
) -> Matches | None:
    """Search by the artist's id with ever more clauses; return None if the artist is not clear."""
    artists = [*dict.fromkeys(filter(None, map(first_artist, recordings)))]
    tagged = (tags.artist_mbid or "").lower()
    artists = artists or ([ArtistId(tagged)] if MBID.fullmatch(tagged) else [])
    if len(artists) != 1:
        return None
    title = bare_title(recordings[0].title or tags.title or "" if recordings else tags.title or "")
    by_id = {recording.id: recording for recording in recordings}
    doubt = None
    for row in _NARROWER:
        doubt = None
        for only in row:
            query = ws.SearchRecordings(artists[0], _spellings(title), length_ms, only=only)
            hits, count = client.search(query)
            if count > len(hits):
                kinds = f" ({', '.join(only)})" if only else ""
                doubt = f"a search{kinds} shows {len(hits)} of {count} recordings"
            by_id |= {hit.id: hit for hit in hits}
        if doubt is None:
            break
    matches = plausible(by_id.values(), tags, of_album)
    return matches._replace(doubt=matches.doubt or doubt)


def plausible(
    hits: Iterable[Recording], tags: TrackTags, of_album: FindArtists = frozenset
) -> Matches:
    """Select the recordings that have the artist, title and length of a file.

    A version that the file's title does not name counts only if there is no other recording; one
    without a length only if no recording by its artist has the file's length.
    """
    fitting = [hit for hit in hits if _fits(hit, tags)]
    untimed: list[Recording] = []
    if tags.duration_ms is not None:
        timed = {first_artist(hit) for hit in fitting if hit.length_ms}
        untimed = [hit for hit in fitting if not hit.length_ms and first_artist(hit) in timed]
    fitting = [*_meant([hit for hit in fitting if hit not in untimed], tags, of_album)]
    of_version = _of_version(fitting, tags)
    best = _best(of_version or fitting, tags, of_album)
    return best._replace(untimed=tuple(untimed), is_by_name=True)


def _of_version(hits: Sequence[Recording], tags: TrackTags) -> Sequence[Recording]:
    """Select the recordings whose remarks name the same version as the title of a file.

    The title of an album (`Live Killers`) is only a hint, so recordings without remarks stay too.
    """
    file_remarks = remarks_in(tags.title, None)
    described = [(hit, remarks_in(hit.title, hit.disambiguation)) for hit in hits]
    if file_remarks.versions:
        places, _ = find_meant(file_remarks, [remarks for _, remarks in described])
        return [hits[place] for place in places]
    kinds = {"", remarks_in(tags.title, tags.album).kind}
    same = [(hit, remarks) for hit, remarks in described if remarks.kind in kinds]
    plain = [hit for hit, remarks in same if remarks.kind or not remarks.versions & remarks.telling]
    return plain or [hit for hit, _ in same]


# Artists who share a name, and artists with guests.


def first_artist(recording: Recording) -> ArtistId | None:
    """Return the artist who is credited first."""
    return next(iter(recording.artist_ids), None)


def artists_apart(hits: Sequence[Recording]) -> dict[RecordingId, Artist]:
    """Return each recording's artist, told from namesakes, or {} if all are by the same artist."""
    groups = _by_credit(hits) if len(hits) > 1 else []
    if len(groups) <= 1:
        return {}
    phrases = [group[0].artist_credit_phrase or "" for group in groups]
    artists: dict[RecordingId, Artist] = {}
    for group, phrase in zip(groups, phrases, strict=True):
        comments = [credit.artist.disambiguation for credit in group[0].credits]
        if not any(comments) and phrases.count(phrase) > 1:
            comments = [credit.artist.id for credit in group[0].credits]
        remark = ", ".join(filter(None, comments))
        name = f"{phrase} ({remark})" if remark else phrase
        artists |= {hit.id: Artist(name, first_artist(hit)) for hit in group}
    return artists


def _by_credit(hits: Iterable[Recording]) -> list[list[Recording]]:
    """Group recordings by their credited artists; a guest may be named in the title instead."""
    groups: list[list[Recording]] = []
    for hit in hits:
        same = next((group for group in groups if _is_by_same_artists(hit, group[0])), None)
        if same:
            same.append(hit)
        else:
            groups.append([hit])
    return groups


def _is_by_same_artists(recording: Recording, other: Recording) -> bool:
    """Whether two recordings have the same first artist, and the same guests or a common ISRC."""
    if first_artist(recording) != first_artist(other):
        return False
    ids, other_ids = set(recording.artist_ids), set(other.artist_ids)
    is_one_performance = bool(set(recording.isrc_list) & set(other.isrc_list))
    words, other_words = (
        credited_words(side.artist_credit_phrase or "", side.title or "")
        for side in (recording, other)
    )
    return ids == other_ids or is_one_performance or words == other_words


def credited_words(credit: str, title: str) -> frozenset[str]:
    """Return the words of the names in a credit and of the guests named in a title."""
    names = frozenset(words_of(f"{credit} {' '.join(_guests_in(title))}"))
    return names - JOIN_WORDS or names


def _meant(
    hits: Sequence[Recording], tags: TrackTags, of_album: FindArtists
) -> Sequence[Recording]:
    """Select recordings by the artist whom ids, album or its other files name, else return all."""
    for fits in (_is_by_tagged_id, _is_on_tagged_release, _is_on_tagged_album):
        if len(set(map(first_artist, hits))) <= 1:
            break
        fitting = {first_artist(hit) for hit in hits if fits(hit, tags)}
        hits = [hit for hit in hits if first_artist(hit) in fitting] or hits
    if hits and (artists := of_album()):
        hits = [hit for hit in hits if artists.intersection(hit.artist_ids)] or hits
    if len(_by_credit(hits)) <= 1:
        return hits
    best_rank = max(_naming_rank(hit, tags) for hit in hits)
    return [hit for hit in hits if _naming_rank(hit, tags) == best_rank]


def _is_by_tagged_id(recording: Recording, tags: TrackTags) -> bool:
    return (tags.artist_mbid or "").lower() in recording.artist_ids


def _is_on_tagged_release(recording: Recording, tags: TrackTags) -> bool:
    tagged = {name.lower() for name in (tags.release_mbid, tags.release_group_mbid) if name}
    releases = recording.release_list
    groups = {release.release_group.id for release in releases if release.release_group}
    return bool(tagged & {*groups, *(release.id for release in releases)})


def _is_on_tagged_album(recording: Recording, tags: TrackTags) -> bool:
    albums = (release.title or "" for release in recording.release_list)
    return bool(tags.album) and any(same_title(album, tags.album or "") for album in albums)


def _naming_rank(recording: Recording, tags: TrackTags) -> tuple[bool, int, bool]:
    """Return whether tags name the first artist, how many they name, and whether all of several."""
    artist = tags.artist or ""
    everyone, first = credited_words(artist, tags.title or ""), {*words_of(main_artist(artist))}
    credits_ = [
        [credited_words(name, "") for name in _names_of(credit)] for credit in recording.credits
    ]
    is_first = any(name <= first for name in next(iter(credits_), []))
    count = sum(any(name <= everyone for name in names) for names in credits_)
    return is_first, count, count == len(credits_) > 1


def _best(hits: Sequence[Recording], tags: TrackTags, of_album: FindArtists) -> Matches:
    """Return the best recording and the earliest others, at most five, and one of each artist."""
    ranked = sorted(hits, key=lambda hit: _distance(hit, tags))
    is_by_others = (
        hits
        and (artists := of_album())
        and not any(artists.intersection(hit.artist_ids) for hit in hits)
    )
    doubt = _BY_OTHERS if is_by_others else None
    if len(ranked) <= MAX_RECORDINGS:
        return Matches(tuple(ranked), doubt=doubt)
    firsts = [group[0].id for group in _by_credit(ranked)]
    early = sorted(
        ranked[1:],
        key=lambda hit: (hit.id not in firsts, partial_date(hit.first_release_date).last),
    )
    unread = early[MAX_RECORDINGS - 1 :]
    return Matches(tuple(hit for hit in ranked if hit not in unread), tuple(unread), doubt)


_BY_OTHERS = "the other files of the album are by another artist of this name"


def _is_other_song(recording: Recording, tags: TrackTags) -> bool:
    """Whether title and artist both differ; a title in Latin letters may be a transliteration."""
    title, tagged = recording.title or "", tags.title or ""
    return bool(
        title
        and tagged
        and tags.artist
        and (title.isascii() or not tagged.isascii())
        and not same_title(title, tagged)
        and not _is_by(recording, tags)
    )


def _is_of_other_length(recording: Recording, tags: TrackTags) -> bool:
    """Whether the lengths differ by more than 30 seconds and a fifth of the longer one.

    A file of a few seconds is a fragment, so its length says nothing.
    """
    apart_ms, duration_ms = _length_apart_ms(recording, tags) or 0, tags.duration_ms or 0
    longer_ms = max(recording.length_ms or 0, duration_ms)
    return duration_ms >= _FRAGMENT_MS and apart_ms > max(_FAR_APART_MS, longer_ms // 5)


def _fits(recording: Recording, tags: TrackTags) -> bool:
    is_backing = _is_instrumental(None, recording.disambiguation)
    return (
        recording.video != "true"
        and (not is_backing or _is_instrumental(tags.title, None))
        and recording.likelihood >= _MIN_SCORE
        and same_title(recording.title or "", tags.title or "")
        and _is_by(recording, tags)
        and (_length_apart_ms(recording, tags) or 0) <= LENGTH_TOLERANCE_MS
    )


def _is_instrumental(title: str | None, comment: str | None) -> bool:
    return "instrumental" in remarks_in(title, comment).kinds


def _is_by(recording: Recording, tags: TrackTags) -> bool:
    if tags.artist_mbid in recording.artist_ids:
        return True
    artist = tags.artist or ""
    artists = {artist, main_artist(artist)}
    is_named = any(same_name(name, spelling) for name in _names(recording) for spelling in artists)
    return is_named or _is_by_all(recording, tags)


def _is_by_all(recording: Recording, tags: TrackTags) -> bool:
    """Whether a recording credits all the names in a file's artist and title, and no others."""
    names = _joined_names("; ".join([tags.artist or "", *_guests_in(tags.title or "")]))
    credited_parts: set[int] = set()
    for credit in recording.credits:
        keys = map(_name_key, _names_of(credit))
        parts = next((names[key] for key in keys if key in names), None)
        if parts is None:
            return False
        credited_parts |= parts
    for guests in _guests_in(recording.title or ""):
        for key in _joined_names(guests):
            credited_parts |= names.get(key, frozenset())
    return len(credited_parts) == max(map(len, names.values()), default=0) > 1


@lru_cache(maxsize=1_024)
def _joined_names(credit: str) -> Mapping[tuple[str, ...], frozenset[int]]:
    """Map the key of each name that a credit may contain to the numbers of the name's parts."""
    parts = _parts_of(credit)
    spans = ((first, last) for first in range(len(parts)) for last in range(first, len(parts)))
    return {
        _key_of(parts[first : last + 1]): frozenset(range(first, last + 1)) for first, last in spans
    }


def _parts_of(credit: str) -> list[str]:
    """Return the names between the join phrases of a credit, folded."""
    folded = fold(credit[:_MAX_COMPARED])
    texts = (folded[first:last].strip(" ()[]") for first, last in parts_of(folded)[0])
    return [*filter(None, texts)]


@lru_cache(maxsize=4_096)
def _name_key(name: str) -> tuple[str, ...]:
    return _key_of(_parts_of(name))


def _key_of(parts: Iterable[str]) -> tuple[str, ...]:
    """Return the key by which names are compared: the parts, sorted, without what joins them."""
    words = ([word for word in words_of(part) if word != "the"] for part in parts)
    return tuple(sorted(map("".join, words)))


def _guests_in(title: str) -> list[str]:
    return _GUESTS.findall(fold(title[:_MAX_COMPARED]))


def _names(recording: Recording) -> Iterator[str]:
    yield from filter(None, [recording.artist_credit_phrase])
    for credit in recording.credits:
        yield from _names_of(credit)


def _names_of(credit: Credit) -> Iterator[str]:
    names: list[str | None] = [credit.name, credit.artist.name, credit.artist.sort_name]
    names += [alias.alias for alias in credit.artist.alias_list]
    return filter(None, names)


def _distance(recording: Recording, tags: TrackTags) -> tuple[bool, bool, bool, int, int, str]:
    apart_ms = _length_apart_ms(recording, tags)
    return (
        not same_title(recording.title or "", tags.title or ""),
        not _is_by(recording, tags),
        bool(tags.album) and not _is_on_tagged_album(recording, tags),
        LENGTH_TOLERANCE_MS if apart_ms is None else apart_ms,
        -recording.likelihood,
        recording.id,
    )


def _length_apart_ms(recording: Recording, tags: TrackTags) -> int | None:
    if recording.length_ms is None or tags.duration_ms is None:
        return None
    return abs(recording.length_ms - tags.duration_ms)


# Similarity of titles and names.

_QUOTES = str.maketrans("", "", "'’‘`´ʼ")
_REMARK = re.compile(
    r"[(\[（［]([^)\]）］]*)[)\]）］]|\s[-–—]\s(.*)$|\s((?:feat|ft)\.?\s.*)$", re.IGNORECASE
)
_SAME_SONG = re.compile(
    r"\b(?:re-?master(?:ed)?|feat|ft|featuring|(?:album|original|single|radio) version|edit"
    r"|explicit|stereo|mono|live|demo|acoustic|unplugged|bonus track|deluxe)\b"
    r"|リマスター|ライブ|ライヴ|^\s*\d{4}\s*$",
    re.IGNORECASE,
)
"""Remarks that do not name another song; the kind of performance is compared separately."""
_NUMBER = re.compile(r"\d+|[ivx]+")
_GUESTS = re.compile(r"\b(?:feat(?:uring)?|ft)\b\.?\s*([^)\]）］]*)", re.IGNORECASE)


def same_title(title: str, other: str) -> bool:
    """Whether two titles name the same song and the same part of it."""
    if title == other:
        return True
    (part, song), (other_part, other_song) = (
        part_of(without_noise(text[:_MAX_COMPARED])) for text in (title, other)
    )
    is_alike = _alike(words_of(bare_title(song)), words_of(bare_title(other_song)))
    return part == other_part and is_alike


def same_name(name: str, other: str) -> bool:
    """Whether two names belong to one artist, in any order of words (`Utada, Hikaru`)."""
    if name == other:
        return True
    names = [
        [word for word in words if word != "the"] or list(words)
        for words in map(words_of, (name, other))
    ]
    is_same = "".join(names[0]) == "".join(names[1])
    return is_same or _alike(*(tuple(sorted(words)) for words in names))


def bare_title(title: str) -> str:
    """Return a title without the remarks that do not name another song.

    MusicBrainz often names a version in the comment instead of the title, but rarely a remix.
    """
    return without_remarks(without_noise(title[:_MAX_COMPARED]), _is_of_same_song)


def _is_of_same_song(remark: str) -> bool:
    versions = remarks_in(f"- ({remark})", None).versions
    return bool(
        _SAME_SONG.search(remark) or (versions and not versions & {"remix", "instrumental"})
    )


def without_remarks(title: str, drops: Callable[[str], bool]) -> str:
    """Return a title without the remarks for which `drops` is true, or whole if that is empty."""

    def replacement(remark: re.Match[str]) -> str:
        text = next(filter(None, remark.groups()), "")
        return " " if drops(text) else remark[0]

    return _REMARK.sub(replacement, title).strip() or title


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text without case, accents or punctuation."""
    text = fold(text[:_MAX_COMPARED].strip())
    bare = text.translate(_QUOTES).replace("&", " and ")
    spaced = "".join(char if char.isalnum() or char.isspace() else " " for char in bare)
    return tuple(spaced.split()) or (text,)


def _alike(words: tuple[str, ...], other: tuple[str, ...]) -> bool:
    from rapidfuzz import fuzz

    if "".join(words) == "".join(other):
        return True
    if [*filter(_NUMBER.fullmatch, words)] != [*filter(_NUMBER.fullmatch, other)]:
        return False
    texts = " ".join(words), " ".join(other)
    if min(map(len, texts)) < MIN_LENGTH_COMPARED:
        return False
    return fuzz.ratio(*texts, score_cutoff=100 * _MIN_LIKENESS) > 0
