"""Evidence bundles as JSON, with the hash that names their facts."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import (
    EvidenceBundle,
    Provenance,
    RecordingCandidate,
    ReleaseGroup,
)
from chart_binder.errors import EvidenceError

VERSION = 1


def read_bundle(document: bytes | str | Mapping[str, Any] | EvidenceBundle) -> EvidenceBundle:
    """Read a bundle from JSON or a mapping; unknown keys are left aside.

    Raises `EvidenceError` that names the path inside the document, what was found and allowed.
    """
    try:
        if isinstance(document, EvidenceBundle):
            bundle = document
        elif isinstance(document, str | bytes):
            bundle = _DECODER.decode(document)
        else:
            bundle = msgspec.convert(document, EvidenceBundle, dec_hook=_read_date)
    except msgspec.ValidationError as error:
        raise _evidence_error(error) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
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
        artifact=None,
        provenance=Provenance(tuple(sorted(sources))) if sources else None,
        recording_candidates=_ordered_recordings(bundle.recording_candidates),
    )
    return hashlib.sha256(_ENCODER.encode(facts)).hexdigest()


def _ordered_recordings(found: tuple[RecordingCandidate, ...]) -> tuple[RecordingCandidate, ...]:
    return tuple(
        replace(recording, rg_candidates=_ordered_groups(recording.groups))
        for recording in sorted(found, key=_ENCODER.encode)
    )


def _ordered_groups(groups: tuple[ReleaseGroup, ...]) -> tuple[ReleaseGroup, ...]:
    return tuple(
        replace(group, releases=tuple(sorted(group.editions, key=_ENCODER.encode)))
        for group in sorted(groups, key=_ENCODER.encode)
    )


def _checked(bundle: EvidenceBundle) -> EvidenceBundle:
    if bundle.version != VERSION:
        raise EvidenceError(f"found {bundle.version}; only {VERSION} is understood", "version")
    if not (bundle.performer.name or bundle.recording_title):
        raise EvidenceError("artist.name or recording_title is required")
    for r, recording in enumerate(bundle.recording_candidates):
        where = f"recording_candidates[{r}]"
        _require(recording.mb_recording_id, f"{where}.mb_recording_id")
        for g, group in enumerate(recording.groups):
            _require(group.mb_rg_id, f"{where}.rg_candidates[{g}].mb_rg_id")
            for e, release in enumerate(group.editions):
                _require(
                    release.mb_release_id,
                    f"{where}.rg_candidates[{g}].releases[{e}].mb_release_id",
                )
    return bundle


def _require(identifier: str, where: str) -> None:
    if not identifier.strip():
        raise EvidenceError("found an empty id; a MusicBrainz id is required", where)


def _read_date(kind: type, value: object) -> PartialDate:
    if kind is not PartialDate or not isinstance(value, str):
        raise ValueError(f"found {value!r}; a date as text is allowed")
    return PartialDate.parse(value.strip())


def _write_date(value: object) -> str:
    if not isinstance(value, PartialDate):
        raise NotImplementedError(f"{type(value)} has no JSON form")
    return value.text


def _evidence_error(error: msgspec.ValidationError) -> EvidenceError:
    problem, _, where = str(error).partition(" - at `")
    path = where.removesuffix("`").removeprefix("$").removeprefix(".")
    return EvidenceError(problem.replace("`", ""), path)


_DECODER = msgspec.json.Decoder(EvidenceBundle, dec_hook=_read_date)
_ENCODER = msgspec.json.Encoder(order="sorted", enc_hook=_write_date)
