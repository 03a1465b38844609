"""The same facts have the same canonical JSON, hence the same hash, whatever order they came in."""

import hashlib
from collections.abc import Iterable

import msgspec
from msgspec.structs import asdict

from chart_binder.domain.evidence import (
    Artist,
    EvidenceBundle,
    RecordingCandidate,
    Release,
    ReleaseFlags,
    ReleaseGroup,
)
from chart_binder.domain.normal import entirely_normal
from chart_binder.domain.words import country_code, isrc, said, status_name


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
        "recording_candidates": _in_order(map(_recording, bundle.recording_candidates)),
    }  # fmt: skip
    return hashlib.sha256(_ENCODER.encode(facts)).hexdigest()


def _artist(artist: Artist) -> dict[str, object]:
    return asdict(artist) | {
        "begin_area_country": country_code(artist.begin_area_country),
        "wikidata_country": country_code(artist.wikidata_country),
    }


def _recording(recording: RecordingCandidate) -> bytes:
    facts = asdict(recording) | {
        "isrcs": _ordered(isrc(code) for code in recording.isrcs or ()),
        "flags": recording.intent,
        "rg_candidates": _in_order(map(_group, recording.groups)),
    }
    return _ENCODER.encode(facts)


def _group(group: ReleaseGroup) -> bytes:
    facts = asdict(group)
    facts["primary_type"], facts["secondary_types"] = group.types
    facts["labels"] = _ordered(group.labels) if group.labels else []
    codes = map(country_code, group.countries) if group.countries else ()
    facts["countries"] = _ordered(code for code in codes if code)
    facts["releases"] = _in_order(map(_release, group.editions))
    return _ENCODER.encode(facts)


def _release(release: Release) -> bytes:
    """Return the release in MusicBrainz' words, with only those flags that no status says."""
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
    """Return a list in JSON of values that are in JSON, each once."""
    return msgspec.Raw(b"[%b]" % b",".join(sorted(set(values))))


def _ordered(words: Iterable[str]) -> list[str]:
    return sorted(set(filter(said, words)))


_ENCODER = msgspec.json.Encoder(order="sorted")
