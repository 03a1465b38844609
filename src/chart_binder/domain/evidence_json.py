"""Evidence bundles as JSON, with the hash that names their facts."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import UNKNOWN, PartialDate, parse
from chart_binder.domain.evidence import (
    Artist,
    EvidenceBundle,
    Provenance,
    RecordingCandidate,
    Release,
    ReleaseFlags,
    ReleaseGroup,
)
from chart_binder.domain.words import country_code, isrc
from chart_binder.errors import EvidenceError

VERSION = 1
_BLANK = "found a blank id; a MusicBrainz id is required"
_V = TypeVar("_V", RecordingCandidate, ReleaseGroup, Release)


def read_bundle(document: bytes | str | Mapping[str, Any] | EvidenceBundle) -> EvidenceBundle:
    """Read a bundle from JSON or a mapping; unknown keys are left aside.

    Raises `EvidenceError` that names the path inside the document, what was found and allowed.
    """
    if isinstance(document, EvidenceBundle):
        return _checked(document)
    try:
        if isinstance(document, str | bytes):
            bundle = _DECODER.decode(document)
        else:
            bundle = msgspec.convert(document, EvidenceBundle, dec_hook=_read_date)
            _ENCODER.encode(bundle)  # a mapping may hold text that no JSON can
    except msgspec.ValidationError as error:
        raise _evidence_error(error) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise EvidenceError(f"not a JSON document ({error})") from error
    except RecursionError as error:
        raise EvidenceError("nested too deeply") from error
    return _checked(bundle)


def write_bundle(bundle: EvidenceBundle) -> bytes:
    """Return the bundle as JSON, keys in order."""
    return _ENCODER.encode(bundle)


def evidence_hash(bundle: EvidenceBundle) -> str:
    """Return the SHA-256 over canonical JSON of the facts, whatever order they came in.

    Left out: the file's own words (`artifact`), and when the facts were fetched.
    """
    sources = bundle.provenance.sources_used if bundle.provenance else None
    facts = replace(
        bundle,
        artist=bundle.artist and _artist(bundle.artist),
        artifact=None,
        provenance=Provenance(_ordered(sources)) if sources else None,
        recording_candidates=_in_order(_recording(one) for one in bundle.recording_candidates),
    )
    return hashlib.sha256(_ENCODER.encode(facts)).hexdigest()


def _in_order(values: Iterable[_V]) -> tuple[_V, ...]:
    return tuple(sorted(values, key=_ENCODER.encode))


def _ordered(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))


def _artist(artist: Artist) -> Artist:
    return replace(
        artist,
        begin_area_country=country_code(artist.begin_area_country),
        wikidata_country=country_code(artist.wikidata_country),
    )


def _recording(recording: RecordingCandidate) -> RecordingCandidate:
    return replace(
        recording,
        isrcs=_ordered(isrc(code) for code in recording.isrcs or ()),
        flags=recording.intent,
        rg_candidates=_in_order(_group(group) for group in recording.groups),
    )


def _group(group: ReleaseGroup) -> ReleaseGroup:
    primary, kinds = group.types
    codes = (country_code(country) for country in group.countries or ())
    return replace(
        group,
        primary_type=primary,
        secondary_types=kinds,
        labels=_ordered(group.labels or ()),
        countries=_ordered(code for code in codes if code),
        releases=_in_order(_release(edition) for edition in group.editions),
    )


def _release(release: Release) -> Release:
    """Return the release in MusicBrainz' words, with only those flags that no status says."""
    hints = release.flags if release.flags and release.flags.marks_reissue else None
    flags = hints and ReleaseFlags(
        is_reissue_hint=hints.is_reissue_hint or None,
        is_remaster_hint=hints.is_remaster_hint or None,
    )
    return replace(release, status=release.standing, country=release.place, flags=flags)


def _checked(bundle: EvidenceBundle) -> EvidenceBundle:
    if bundle.version != VERSION:
        raise EvidenceError(f"found {bundle.version}; only {VERSION} is understood", "version")
    if not (bundle.performer.name or bundle.recording_title):
        raise EvidenceError("artist.name or recording_title is required")
    for r, recording in enumerate(bundle.recording_candidates):
        where = f"recording_candidates[{r}]"
        if not recording.mb_recording_id.strip():
            raise EvidenceError(_BLANK, f"{where}.mb_recording_id")
        for g, group in enumerate(recording.rg_candidates or ()):
            if not group.mb_rg_id.strip():
                raise EvidenceError(_BLANK, f"{where}.rg_candidates[{g}].mb_rg_id")
    return bundle


def _read_date(_kind: type, value: object) -> PartialDate:
    if type(value) is str:
        return parse(value)
    if value is None:
        return UNKNOWN
    raise ValueError(f"found {value!r:.40}; a date as text is allowed")


def _write_date(value: object) -> str | None:
    if not isinstance(value, PartialDate):
        raise NotImplementedError(f"{type(value)} has no JSON form")
    return value.text or None


def _evidence_error(error: msgspec.ValidationError) -> EvidenceError:
    problem, _, where = str(error).partition(" - at `")
    path = where.removesuffix("`").removeprefix("$").removeprefix(".")
    return EvidenceError(problem.replace("`", ""), path)


_DECODER = msgspec.json.Decoder(EvidenceBundle, dec_hook=_read_date)
_ENCODER = msgspec.json.Encoder(order="sorted", enc_hook=_write_date)
