"""Evidence bundles as JSON (version 1)."""

import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from chart_binder.domain.canonical import evidence_hash
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.normal import VERSION, normal
from chart_binder.domain.words import said
from chart_binder.errors import EvidenceError

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
