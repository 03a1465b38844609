"""Evidence bundles as JSON (version 1)."""

import hashlib
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from chart_binder.domain.dates import parse
from chart_binder.domain.evidence import (
    Artifact,
    Artist,
    EvidenceBundle,
    RecordingCandidate,
    Release,
    ReleaseFlags,
    ReleaseGroup,
    Value,
)
from chart_binder.domain.vocabulary import (
    RecordingId,
    ReleaseGroupId,
    ReleaseId,
    bare_id,
    country_code,
    isrc,
    said,
    status_name,
)
from chart_binder.errors import EvidenceError

VERSION = 1

Id = TypeVar("Id", bound=str)
V = TypeVar("V", bound=Value)

_TEXTS: dict[type[Value], tuple[str, ...]] = {
    Artist: ("name", "mb_artist_id", "begin_area_country", "wikidata_country"),
    RecordingCandidate: ("title", "disambiguation"),
    ReleaseGroup: ("title", "artist_credit", "primary_type"),
    Release: (
        "title", "country", "status", "label", "catno", "format", "disambiguation",
        "artist_credit",
    ),
}  # fmt: skip
_LISTS: dict[type[Value], tuple[str, ...]] = {
    RecordingCandidate: ("isrcs",),
    ReleaseGroup: ("secondary_types", "labels", "countries"),
}
_PLAIN = bytes(code for code in range(33, 127) if not chr(code).isupper())
"""Printable ASCII but for capitals: an id of these is in normal form already."""
_texts = {kind: attrgetter(*names) for kind, names in _TEXTS.items()}
_MOST_REMEMBERED = 65_536
_well_written: set[str | None] = {None}
"""Dates that were in normal form before: a bundle has a thousand, and most days are met again."""


def normal(bundle: EvidenceBundle) -> EvidenceBundle:
    """Return a bundle in normal form, but for blanks in releases, which rules take as unknown.

    Most bundles are in that form; to look for blanks in every text of every release would cost
    half as much as to read them. Raises `EvidenceError` with the path of a blank id, or of a text
    that is no date.
    """
    is_plain = _is_plain_above_releases(bundle) and _are_well_written(bundle)
    return bundle if is_plain else _rewritten(bundle)


def entirely_normal(bundle: EvidenceBundle) -> EvidenceBundle:
    """Return a bundle in normal form. Raises `EvidenceError` as `normal` does."""
    texts: set[str | None] = set()
    for recording in bundle.recording_candidates:
        for group in recording.groups:
            texts.update(*map(_texts[Release], group.editions))
    return _rewritten(bundle) if _any_blank(texts) else normal(bundle)


def _is_plain_above_releases(bundle: EvidenceBundle) -> bool:
    """Whether ids and texts are in normal form, by a few looks at all of them at once."""
    if bundle.version is None or not (bundle.listed.is_each_once or _is_nothing_twice(bundle)):
        return False
    texts: set[str | None] = {bundle.recording_title}
    artist_id = "-"
    if bundle.artist:
        texts.update(_texts[Artist](bundle.artist))
        artist_id = bundle.artist.mb_artist_id or "-"
    for recording in bundle.recording_candidates:
        groups = recording.rg_candidates or ()
        texts.update(_texts[RecordingCandidate](recording))
        texts.update([group.title for group in groups])
        texts.update([group.artist_credit for group in groups])
        texts.update([group.primary_type for group in groups])
    return _are_plain([artist_id, *bundle.listed.ids]) and not _any_blank(texts)


def _is_nothing_twice(bundle: EvidenceBundle) -> bool:
    """Whether no list has an id twice; several recordings may well be on one release."""
    recordings = bundle.recording_candidates
    lists: list[list[str]] = [[one.mb_recording_id for one in recordings]]
    for recording in recordings:
        lists.append([group.mb_rg_id for group in recording.groups])
        lists += [[one.mb_release_id for one in group.editions] for group in recording.groups]
    return all(len(set(ids)) == len(ids) for ids in lists)


def _are_plain(ids: list[str]) -> bool:
    """Whether all are in normal form; most are of small letters, digits and signs only."""
    together = "".join(ids)
    if together.isascii() and not together.encode().translate(None, _PLAIN):
        return all(ids)
    return all(one and (one == one.lower() == one.strip() or bare_id(one) == one) for one in ids)


def _are_well_written(bundle: EvidenceBundle) -> bool:
    """Whether all dates are some, written as short as they can be."""
    recordings = bundle.recording_candidates
    groups = [group for recording in recordings for group in recording.rg_candidates or ()]
    dates = [release.date for group in groups for release in group.releases or ()]
    dates += [group.first_release_date for group in groups]
    dates += [recording.first_release_date for recording in recordings]
    return _well_written.issuperset(dates) or all(map(_is_well_written, dates))


def _is_well_written(date: str | None) -> bool:
    if date not in _well_written:
        try:
            if not date or parse(date).text != date:
                return False
        except ValueError:
            return False
        if len(_well_written) > _MOST_REMEMBERED:
            _well_written.intersection_update({None})
        _well_written.add(date)
    return True


def _any_blank(texts: set[str | None]) -> bool:
    written = set(filter(None, texts))
    return "" in texts or any(map(str.isspace, written))


def _rewritten(bundle: EvidenceBundle) -> EvidenceBundle:
    artist = bundle.artist and _plain(bundle.artist)
    if artist and artist.mb_artist_id:
        artist = replace(artist, mb_artist_id=bare_id(artist.mb_artist_id))
    return replace(
        bundle,
        version=VERSION if bundle.version is None else bundle.version,
        artist=artist,
        recording_title=said(bundle.recording_title),
        artifact=bundle.artifact and _artifact(bundle.artifact),
        recording_candidates=_each(_recording, bundle.recording_candidates, "recording_candidates"),
    )


def _artifact(one: Artifact) -> Artifact:
    tags = {name: text for name, text in (one.tags or {}).items() if said(text)}
    return replace(one, tags=tags if one.tags is not None else None)


def _recording(one: RecordingCandidate, where: str) -> RecordingCandidate:
    return replace(
        _plain(one),
        mb_recording_id=_id(RecordingId, one.mb_recording_id, f"{where}.mb_recording_id"),
        first_release_date=_date(one.first_release_date, f"{where}.first_release_date"),
        rg_candidates=one.rg_candidates
        and _each(_group, one.rg_candidates, f"{where}.rg_candidates"),
    )


def _group(one: ReleaseGroup, where: str) -> ReleaseGroup:
    return replace(
        _plain(one),
        mb_rg_id=_id(ReleaseGroupId, one.mb_rg_id, f"{where}.mb_rg_id"),
        first_release_date=_date(one.first_release_date, f"{where}.first_release_date"),
        releases=one.releases and _each(_release, one.releases, f"{where}.releases"),
    )


def _release(one: Release, where: str) -> Release:
    known = _id(ReleaseId, one.mb_release_id, f"{where}.mb_release_id")
    date, plain = _date(one.date, f"{where}.date"), _plain(one)
    if known == one.mb_release_id and date == one.date:
        return plain
    return replace(plain, mb_release_id=known, date=date)


def _each(rewrite: Callable[[V, str], V], values: Sequence[V], where: str) -> tuple[V, ...]:
    """Return the values rewritten, those that are alike once."""
    written = (rewrite(one, f"{where}[{number}]") for number, one in enumerate(values))
    return tuple(dict.fromkeys(written))


def _id(kind: Callable[[str], Id], written: str, where: str) -> Id:
    bare = bare_id(written)
    if not bare:
        raise EvidenceError("found a blank id; a MusicBrainz id is required", where)
    return kind(bare)


def _date(written: str | None, where: str) -> str | None:
    try:
        return parse(written).text or None if written else None
    except ValueError as error:
        raise EvidenceError(str(error), where) from error


def _plain(value: V) -> V:
    """Return a value without its blank texts, nor those in its lists."""
    kind = type(value)
    blank: dict[str, object] = {
        name: None
        for name, text in zip(_TEXTS[kind], _texts[kind](value), strict=True)
        if text is not None and not said(text)
    }
    for name in _LISTS.get(kind, ()):
        if listed := getattr(value, name):
            blank[name] = tuple(filter(said, listed))
    return replace(value, **blank) if blank else value


def evidence_hash(bundle: EvidenceBundle) -> str:
    """Return the SHA-256 over canonical JSON of the facts.

    Keys are sorted, nothing is spaced, records and releases are in the order of their own JSON,
    and words are MusicBrainz' own. Left out: what the file itself says (`artifact`), and when the
    facts were fetched. Raises `EvidenceError` for a blank id.
    """
    bundle = entirely_normal(bundle)
    sources = _ordered((bundle.provenance and bundle.provenance.sources_used) or ())
    facts = asdict(bundle) | {
        "artifact": None,
        "artist": _artist(bundle.performer),
        "provenance": {
            "cache_age_s": None, "fetched_at_utc": None, "sources_used": sources,
        } if sources else None,
        "recording_candidates": _in_order(map(_canonical_recording, bundle.recording_candidates)),
    }  # fmt: skip
    return hashlib.sha256(_CANONICAL_ENCODER.encode(facts)).hexdigest()


def _artist(artist: Artist) -> dict[str, object]:
    return asdict(artist) | {
        "begin_area_country": country_code(artist.begin_area_country),
        "wikidata_country": country_code(artist.wikidata_country),
    }


def _canonical_recording(recording: RecordingCandidate) -> bytes:
    facts = asdict(recording) | {
        "isrcs": _ordered(isrc(code) for code in recording.isrcs or ()),
        "flags": recording.intent,
        "rg_candidates": _in_order(map(_canonical_group, recording.groups)),
    }
    return _CANONICAL_ENCODER.encode(facts)


def _canonical_group(group: ReleaseGroup) -> bytes:
    facts = asdict(group)
    facts["primary_type"], facts["secondary_types"] = group.types
    facts["labels"] = _ordered(group.labels) if group.labels else []
    codes = map(country_code, group.countries) if group.countries else ()
    facts["countries"] = _ordered(code for code in codes if code)
    facts["releases"] = _in_order(map(_canonical_release, group.editions))
    return _CANONICAL_ENCODER.encode(facts)


def _canonical_release(release: Release) -> bytes:
    """Return the release in MusicBrainz' words, with only those flags that no status says."""
    status, country = release.status, release.country
    is_plain = status is None or status_name(status) == status
    if release.flags is None and is_plain and country_code(country) == country:
        return _CANONICAL_ENCODER.encode(release)
    hints = release.flags if release.flags and release.flags.marks_reissue else None
    facts = asdict(release) | {
        "status": release.standing,
        "country": release.place,
        "flags": hints and ReleaseFlags(
            is_reissue_hint=hints.is_reissue_hint or None,
            is_remaster_hint=hints.is_remaster_hint or None,
        ),
    }  # fmt: skip
    return _CANONICAL_ENCODER.encode(facts)


def _in_order(values: Iterable[bytes]) -> msgspec.Raw:
    """Return a list in JSON of values that are in JSON, each once."""
    return msgspec.Raw(b"[%b]" % b",".join(sorted(set(values))))


def _ordered(words: Iterable[str]) -> list[str]:
    return sorted(set(filter(said, words)))


_CANONICAL_ENCODER = msgspec.json.Encoder(order="sorted")


__all__ = ["VERSION", "defect", "evidence_hash", "read_bundle", "write_bundle"]

_BOM = "\ufeff"
_ANY_TAG = "artifact.tags[...]"
_MOST_SHOWN = 100
_LIMIT = re.compile(r"([<>]=) (\d+)$")
_PRINTABLE = 10**20
_STEP = re.compile(r"(\w+)|\[(\d+)\]")
_READ_TWO_WAYS = (LookupError, TypeError, AttributeError, msgspec.DecodeError, RecursionError)
"""What comes of a document that is read again up to another place: it may have a key twice."""


def read_bundle(document: bytes | str | Mapping[str, Any] | EvidenceBundle) -> EvidenceBundle:
    """Read a bundle from JSON or a mapping; unknown keys are left aside.

    Raises `EvidenceError` that names the path inside the document, what was found and allowed.
    """
    if isinstance(document, EvidenceBundle):
        return normal(_checked(document))
    try:
        if isinstance(document, bytes):
            bundle = _DECODER.decode(document.removeprefix(BOM_UTF8))
        elif isinstance(document, str):
            bundle = _DECODER.decode(document.removeprefix(_BOM))
        else:
            bundle = msgspec.convert(document, EvidenceBundle)
            _ENCODER.encode(bundle)  # a mapping may hold text that no JSON can
    except msgspec.ValidationError as error:
        raise _evidence_error(error, document) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise EvidenceError(f"not a JSON document ({error})") from error
    except RecursionError as error:
        raise EvidenceError("nested too deeply") from error
    return normal(_checked(bundle))


def write_bundle(bundle: EvidenceBundle) -> bytes:
    """Return the bundle as JSON, keys in order."""
    return _ENCODER.encode(bundle)


def _checked(bundle: EvidenceBundle) -> EvidenceBundle:
    if bundle.version not in (None, VERSION):
        raise EvidenceError(f"found {bundle.version}; only {VERSION} is understood", "version")
    if not (said(bundle.performer.name) or said(bundle.recording_title)):
        raise EvidenceError("artist.name or recording_title is required")
    return bundle


def _evidence_error(
    error: msgspec.ValidationError, document: bytes | str | Mapping[str, Any]
) -> EvidenceError:
    where, problem = defect(error)
    if where == _ANY_TAG:
        with suppress(*_READ_TWO_WAYS):
            where = f"artifact.tags.{_odd_tag(document)}"
    elif limit := _LIMIT.search(problem):
        with suppress(*_READ_TWO_WAYS):
            problem += _beyond(document, where, limit[1], int(limit[2]))
    return EvidenceError(problem, where)


def _beyond(document: bytes | str | Mapping[str, Any], where: str, side: str, limit: int) -> str:
    """Return what was found beyond a limit, which msgspec does not tell."""
    value: Any = document if isinstance(document, Mapping) else msgspec.json.decode(document)
    for key, place in _STEP.findall(where):
        value = value[int(place)] if place else value[key]
    size = len(value) if isinstance(value, str) else value
    is_beyond = size > limit if side == "<=" else size < limit
    if not is_beyond:
        return ""
    return f", found {size}" if abs(size) < _PRINTABLE else ", found one far beyond it"


def _odd_tag(document: bytes | str | Mapping[str, Any]) -> str:
    """Return the name of the tag that is no text, which msgspec does not tell."""
    plain = document if isinstance(document, Mapping) else msgspec.json.decode(document)
    tags = plain["artifact"]["tags"].items()
    odd = (str(name) for name, text in tags if not isinstance(text, str | None))
    return next(odd, "?")[:_MOST_SHOWN]


def defect(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return where in a document a value is not as it must be, and how."""
    problem, _, where = str(error).partition(" - at `")
    path = where.removesuffix("`").replace("` in `", " in ").replace("$.", "").replace("$", "")
    return path.removesuffix(" in "), problem.replace("`", "")


_DECODER = msgspec.json.Decoder(EvidenceBundle)
_ENCODER = msgspec.json.Encoder(order="sorted")
