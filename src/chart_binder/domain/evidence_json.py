"""Evidence bundles as JSON (version 1): read, check, normalize, write and hash them."""

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import (
    Artist,
    EvidenceBundle,
    RecordingCandidate,
    Release,
    ReleaseFlags,
    ReleaseGroup,
    Value,
)
from chart_binder.domain.vocabulary import (
    SECONDARY_TYPES,
    bare_id,
    country_code,
    isrc,
    non_blank,
    status_name,
)
from chart_binder.errors import EvidenceError

VERSION = 1

_DECODER = msgspec.json.Decoder(EvidenceBundle)
_ENCODER = msgspec.json.Encoder(order="sorted")


def read_bundle(document: bytes | str | Mapping[str, Any] | EvidenceBundle) -> EvidenceBundle:
    """Return a bundle in normal form; ignore unknown keys. Raises `EvidenceError`."""
    if isinstance(document, EvidenceBundle):
        return normalize(_checked(document))
    try:
        if isinstance(document, bytes):
            bundle = _DECODER.decode(document.removeprefix(BOM_UTF8))
        elif isinstance(document, str):
            bundle = _DECODER.decode(document.removeprefix("\ufeff"))
        else:
            bundle = msgspec.convert(document, EvidenceBundle)
            _ENCODER.encode(bundle)  # a mapping may contain text that JSON cannot
    except msgspec.ValidationError as error:
        where, problem = defect(error)
        raise EvidenceError(problem, where) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise EvidenceError(f"not a JSON document ({error})") from error
    except RecursionError as error:
        raise EvidenceError("nested too deeply") from error
    return normalize(_checked(bundle))


def with_recordings(
    bundle: EvidenceBundle, recordings: Iterable[RecordingCandidate]
) -> EvidenceBundle:
    """Return the evidence with the recordings that it does not have yet, in normal form."""
    ids = {recording.mb_recording_id for recording in bundle.recording_candidates}
    new = tuple(recording for recording in recordings if recording.mb_recording_id not in ids)
    if not new:
        return bundle
    return normalize(replace(bundle, recording_candidates=(*bundle.recording_candidates, *new)))


def unknown_words(bundle: EvidenceBundle) -> list[tuple[str, str]]:
    """Return each type and status that MusicBrainz does not have, with its key, once."""
    words: list[tuple[str, str | None]] = []
    for group in bundle.groups:
        primary, kinds = group.types
        words += [("primary_type", group.primary_type)] if not primary else []
        words += (("secondary_types", kind) for kind in kinds if kind not in SECONDARY_TYPES)
        editions = (release for release in group.editions if not status_name(release.status or ""))
        words += (("status", release.status) for release in editions)
    return [(key, word) for key, word in dict.fromkeys(words) if word and non_blank(word)]


def write_bundle(bundle: EvidenceBundle) -> bytes:
    """Return the bundle as JSON with sorted keys."""
    return _ENCODER.encode(bundle)


def _checked(bundle: EvidenceBundle) -> EvidenceBundle:
    if bundle.version not in (None, VERSION):
        raise EvidenceError(f"found {bundle.version}; only {VERSION} is understood", "version")
    if not (non_blank(bundle.performer.name) or non_blank(bundle.recording_title)):
        raise EvidenceError("artist.name or recording_title is required")
    return bundle


def evidence_hash(bundle: EvidenceBundle) -> str:
    """Return the SHA-256 of the facts as canonical JSON. Raises `EvidenceError`.

    Keys, recordings, groups and releases are sorted, and types, statuses and countries are written
    as by MusicBrainz. `artifact`, the time of fetching and `unread` do not count.
    """
    texts: set[str | None] = set()
    for recording in bundle.recording_candidates:
        for group in recording.groups:
            texts.update(*map(_texts_of[Release], group.editions))
    bundle = _rewritten(bundle) if _any_blank(texts) else normalize(bundle)
    sources = _ordered((bundle.provenance and bundle.provenance.sources_used) or ())
    artist = bundle.performer
    facts = asdict(bundle) | {
        "artifact": None,
        "artist": asdict(artist) | {
            "begin_area_country": country_code(artist.begin_area_country),
            "wikidata_country": country_code(artist.wikidata_country),
        },
        "provenance": {
            "cache_age_s": None, "fetched_at_utc": None, "sources_used": sources,
        } if sources else None,
        "recording_candidates": _in_order(map(_canonical_recording, bundle.recording_candidates)),
    }  # fmt: skip
    return hashlib.sha256(_encoded(facts)).hexdigest()


_ONLY_IF_SET = (
    "siblings", "complete", "relation", "premiere", "artist", "artist_ids", "stated_first",
)  # fmt: skip
"""Keys that count only if they are set, so that evidence older than they are keeps its hash."""


def _encoded(facts: dict[str, Any]) -> bytes:
    for key in _ONLY_IF_SET:
        if facts.get(key, "") is None:
            del facts[key]
    facts.pop("because", None)
    return _ENCODER.encode(facts)


def _canonical_recording(recording: RecordingCandidate) -> bytes:
    facts = asdict(recording) | {
        "isrcs": _ordered(map(isrc, recording.isrcs)) if recording.isrcs else [],
        "flags": recording.intent,
        "rg_candidates": _in_order(map(_canonical_group, recording.groups)),
    }
    return _encoded(facts)


def _canonical_group(group: ReleaseGroup) -> bytes:
    facts = asdict(group)
    facts["primary_type"], facts["secondary_types"] = group.types
    facts["labels"] = _ordered(group.labels) if group.labels else []
    ids = group.artist_ids
    facts["artist_ids"] = (_ordered(map(bare_id, ids)) or None) if ids else None
    countries = group.countries
    facts["countries"] = _ordered(filter(None, map(country_code, countries))) if countries else []
    facts["releases"] = _in_order(map(_canonical_release, group.editions))
    return _encoded(facts)


def _canonical_release(release: Release) -> bytes:
    """Return the release in MusicBrainz's words, with only those flags that no status implies."""
    status, country = release.status, release.country
    is_plain = status is None or status_name(status) == status
    if release.flags is None and is_plain and country_code(country) == country:
        return _ENCODER.encode(release)
    hints = release.flags if release.flags and release.flags.marks_reissue else None
    facts = asdict(release) | {
        "status": release.standing,
        "country": release.place,
        "flags": hints and ReleaseFlags(
            is_reissue_hint=hints.is_reissue_hint or None,
            is_remaster_hint=hints.is_remaster_hint or None,
        ),
    }  # fmt: skip
    return _ENCODER.encode(facts)


def _in_order(values: Iterable[bytes]) -> msgspec.Raw:
    return msgspec.Raw(b"[%b]" % b",".join(sorted(set(values))))


def _ordered(words: Iterable[str]) -> list[str]:
    return sorted({word for word in words if word and not word.isspace()})


# Normal form: no blank texts, ids as MusicBrainz writes them, dates as short as possible, no
# duplicates. Most bundles have it already, so a few fast checks of the whole bundle come first.

V = TypeVar("V", bound=Value)

_TEXTS: dict[type[Value], tuple[str, ...]] = {
    Artist: ("name", "mb_artist_id", "begin_area_country", "wikidata_country"),
    RecordingCandidate: ("title", "disambiguation", "relation", "because"),
    ReleaseGroup: ("title", "artist_credit", "primary_type"),
    Release: (
        "title", "country", "status", "label", "catno", "format", "disambiguation",
        "artist_credit",
    ),
}  # fmt: skip
_LISTS: dict[type[Value], tuple[str, ...]] = {
    RecordingCandidate: ("isrcs",),
    ReleaseGroup: ("secondary_types", "labels", "countries", "artist_ids"),
}
_texts_of = {kind: attrgetter(*names) for kind, names in _TEXTS.items()}
_PLAIN = bytes(code for code in range(33, 127) if not chr(code).isupper())
"""Printable ASCII without capitals: an id of these characters is in normal form."""
_MAX_DATES = 65_536
_normal_dates: set[str | None] = {None}
"""Dates known to be in normal form; a bundle has a thousand, and most days recur."""


def normalize(bundle: EvidenceBundle) -> EvidenceBundle:
    """Return a bundle in normal form; blank texts in releases may stay, and mean unknown.

    Raises `EvidenceError` with the path of a blank id or of an invalid date.
    """

    def is_normal() -> bool:
        return _is_normal_above_releases(bundle) and _has_normal_dates(bundle)

    return bundle if bundle.once("is_normal", is_normal) else _rewritten(bundle)


def _is_normal_above_releases(bundle: EvidenceBundle) -> bool:
    if bundle.version is None or not (bundle.all_ids.is_each_once or _has_no_duplicate(bundle)):
        return False
    texts: set[str | None] = {bundle.recording_title, bundle.siblings}
    artist_id = "-"
    if bundle.artist:
        texts.update(_texts_of[Artist](bundle.artist))
        artist_id = bundle.artist.mb_artist_id or "-"
    for recording in bundle.recording_candidates:
        groups = recording.rg_candidates or ()
        texts.update(_texts_of[RecordingCandidate](recording))
        if recording.artist and recording.artist != _artist(recording.artist):
            return False
        texts.update([group.title for group in groups])
        texts.update([group.artist_credit for group in groups])
        texts.update([group.primary_type for group in groups])
    return _are_bare_ids([artist_id, *bundle.all_ids.ids]) and not _any_blank(texts)


def _has_no_duplicate(bundle: EvidenceBundle) -> bool:
    """Return whether no list has an id twice; several recordings may be on one release."""
    recordings = bundle.recording_candidates
    lists: list[list[str]] = [[recording.mb_recording_id for recording in recordings]]
    for recording in recordings:
        lists.append([group.mb_rg_id for group in recording.groups])
        editions = (group.editions for group in recording.groups)
        lists += ([release.mb_release_id for release in releases] for releases in editions)
    return all(len(set(ids)) == len(ids) for ids in lists)


def _are_bare_ids(ids: list[str]) -> bool:
    together = "".join(ids)
    if together.isascii() and not together.encode().translate(None, _PLAIN):
        return all(ids)
    return all(id_ and (id_ == id_.lower() == id_.strip() or bare_id(id_) == id_) for id_ in ids)


def _has_normal_dates(bundle: EvidenceBundle) -> bool:
    recordings = bundle.recording_candidates
    groups = [group for recording in recordings for group in recording.rg_candidates or ()]
    dates = [release.date for group in groups for release in group.releases or ()]
    dates += [group.first_release_date for group in groups]
    dates += [recording.first_release_date for recording in recordings]
    return _normal_dates.issuperset(dates) or all(map(_is_normal_date, dates))


def _is_normal_date(date: str | None) -> bool:
    if date not in _normal_dates:
        try:
            if not date or PartialDate.parse(date).text != date:
                return False
        except ValueError:
            return False
        if len(_normal_dates) > _MAX_DATES:
            _normal_dates.intersection_update({None})
        _normal_dates.add(date)
    return True


def _any_blank(texts: set[str | None]) -> bool:
    return "" in texts or any(map(str.isspace, filter(None, texts)))


def _rewritten(bundle: EvidenceBundle) -> EvidenceBundle:
    tags = bundle.artifact and bundle.artifact.tags
    tags = tags and {name: text for name, text in tags.items() if non_blank(text)}
    artist = bundle.artist and _artist(bundle.artist)
    return replace(
        bundle,
        version=VERSION if bundle.version is None else bundle.version,
        artist=artist,
        recording_title=non_blank(bundle.recording_title),
        siblings=non_blank(bundle.siblings),
        artifact=bundle.artifact and replace(bundle.artifact, tags=tags),
        recording_candidates=_records(bundle.recording_candidates, "recording_candidates"),
    )


def _artist(artist: Artist) -> Artist:
    artist = _without_blanks(artist)
    artist_id = artist.mb_artist_id
    return replace(artist, mb_artist_id=bare_id(artist_id)) if artist_id else artist


_RECORDS: dict[type[Value], tuple[str, str, str]] = {
    RecordingCandidate: ("mb_recording_id", "first_release_date", "rg_candidates"),
    ReleaseGroup: ("mb_rg_id", "first_release_date", "releases"),
    Release: ("mb_release_id", "date", ""),
}
"""The fields with the id and the date of a value, and with the values inside it."""


def _records(values: Iterable[V], where: str) -> tuple[V, ...]:
    rewritten = (_record(value, f"{where}[{number}]") for number, value in enumerate(values))
    return tuple(dict.fromkeys(rewritten))


def _record(value: V, where: str) -> V:
    id_, date, inside = _RECORDS[type(value)]
    if not (bare := bare_id(getattr(value, id_))):
        raise EvidenceError("found a blank id; a MusicBrainz id is required", f"{where}.{id_}")
    changed: dict[str, object] = {id_: bare, date: _date(getattr(value, date), f"{where}.{date}")}
    if isinstance(value, RecordingCandidate) and value.artist:
        changed["artist"] = _artist(value.artist)
    if inside and (records := getattr(value, inside)):
        changed[inside] = _records(records, f"{where}.{inside}")
    return replace(_without_blanks(value), **changed)


def _date(text: str | None, where: str) -> str | None:
    try:
        return PartialDate.parse(text).text or None if text else None
    except ValueError as error:
        raise EvidenceError(str(error), where) from error


def _without_blanks(value: V) -> V:
    """Return a value without blank texts, also in its lists."""
    kind = type(value)
    changed: dict[str, object] = {
        name: None
        for name, text in zip(_TEXTS[kind], _texts_of[kind](value), strict=True)
        if text is not None and not non_blank(text)
    }
    for name in _LISTS.get(kind, ()):
        if texts := getattr(value, name):
            changed[name] = tuple(filter(non_blank, texts))
    return replace(value, **changed) if changed else value


def defect(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the path of an invalid value in a document, and what is wrong with it."""
    problem, _, where = str(error).partition(" - at `")
    places = (place.lstrip("$").lstrip(".") for place in where.rstrip("`").split("` in `"))
    return " in ".join(filter(None, places)), problem.replace("`", "")
