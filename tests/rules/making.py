"""Evidence in few words: records as a person would name them."""

from pathlib import Path
from typing import Any

import pytest

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle

ARTIST = "Queen"
Json = dict[str, Any]


def release(date: str | None = None, country: str | None = "GB", **more: Any) -> Json:
    return {"date": date, "country": country, "status": "Official"} | more


def record(name: str, kind: str, *releases: Json | str | None, **more: Any) -> Json:
    """A release group: `record("A", "Album+Live", "1974-11-08")`; its name is its id."""
    primary, *secondary = kind.split("+")
    made = [release(one) if one is None or isinstance(one, str) else one for one in releases]
    return {
        "mb_rg_id": name,
        "title": name,
        "artist_credit": ARTIST,
        "primary_type": primary or None,
        "secondary_types": secondary,
        "releases": [{"mb_release_id": f"{name}.{n}"} | one for n, one in enumerate(made, 1)],
    } | more


def album(name: str, *releases: Json | str | None, **more: Any) -> Json:
    return record(name, "Album", *releases, **more)


def single(name: str, *releases: Json | str | None, **more: Any) -> Json:
    return record(name, "Single", *releases, **more)


def compilation(name: str, *releases: Json | str | None, **more: Any) -> Json:
    return record(name, "Album+Compilation", *releases, **more)


def various(name: str, *releases: Json | str | None, **more: Any) -> Json:
    """A compilation by various artists."""
    return compilation(name, *releases, artist_credit="Various Artists", **more)


def recording(*groups: Json, **more: Any) -> Json:
    return {"mb_recording_id": "rec", "title": "Song", "rg_candidates": list(groups)} | more


def take(name: str, *groups: Any, **more: Any) -> Json:
    """One of several recordings, by its id."""
    return recording(*groups, mb_recording_id=name, **more)


def document(*recordings: Json, **more: Any) -> Json:
    return {
        "version": 1,
        "artist": {"name": ARTIST, "begin_area_country": "GB"},
        "recording_title": "Song",
        "recording_candidates": list(recordings),
    } | more


def bundle(*groups: Json, **more: Any) -> EvidenceBundle:
    """The evidence of one recording on some records."""
    return read_bundle(document(recording(*groups, **more)))


_KINDS = {
    "album": "Album", "single": "Single", "EP": "EP", "live": "Album+Live",
    "soundtrack": "Album+Soundtrack", "compilation": "Album+Compilation",
    "various": "Album+Compilation", "untyped": "",
}  # fmt: skip
_STATUSES = {
    "promo": "Promotion", "bootleg": "Bootleg", "pseudo": "Pseudo-Release",
    "withdrawn": "Withdrawn", "cancelled": "Cancelled", "unknown": None,
}  # fmt: skip


def records(text: str) -> list[Json]:
    """Records as a line of text: `S single 1974-10-11; A album 1974-11-08@US undated/promo`.

    A release is a date, `@` its country (else GB), `/` its status (else official), `%` its format,
    with `_` for a space. `group:DATE` is
    the group's own date, `by:NAME` its credit, `by:-` none, `title:TEXT` its title if not the name,
    `premiere:yes` that a verified fact calls it the first.
    """
    return [_record(*part.split()) for part in text.split(";") if part.strip()]


def _record(name: str, kind: str, *words: str) -> Json:
    more: Json = {"artist_credit": "Various Artists"} if kind == "various" else {}
    made = []
    for word in words:
        if word.startswith("group:"):
            more["first_release_date"] = word.removeprefix("group:")
        elif word.startswith("by:"):
            credit = word.removeprefix("by:").replace("_", " ")
            more["artist_credit"] = None if credit == "-" else credit
        elif word == "premiere:yes":
            more["premiere"] = True
        elif word.startswith("title:"):
            more["title"] = word.removeprefix("title:").replace("_", " ")
        else:
            made.append(_release(word))
    return record(name, _KINDS.get(kind, kind), *made, **more)


def _release(word: str) -> Json:
    word, _, made = word.partition("%")
    place, _, status = word.partition("/")
    date, _, country = place.partition("@")
    return release(
        None if date == "undated" else date,
        country or "GB",
        status=_STATUSES[status] if status else "Official",
        format=made.replace("_", " ") or None,
    )


def cases(name: str | Path, *, is_named: bool = True) -> list[Any]:
    """The cases in a file of this folder: a line each, its fields parted by ` | `, `#` a comment.

    Where `is_named`, the first field is what the case claims.
    """
    lines = (Path(__file__).parent / name).read_text("utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if line and not line.startswith("# ")]
    return [pytest.param(*row[1:], id=row[0]) if is_named else tuple(row) for row in rows]
