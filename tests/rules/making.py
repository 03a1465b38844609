"""Evidence in few words: records as a person would name them."""

import json
import re
from collections.abc import Mapping
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
        "mb_rg_id": name, "title": name, "artist_credit": ARTIST, "primary_type": primary or None,
        "secondary_types": secondary,
        "releases": [{"mb_release_id": f"{name}.{n}"} | one for n, one in enumerate(made, 1)],
    } | more  # fmt: skip


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


def evidence_of(known: str, text: str) -> Json:
    """Evidence of a recording on the `records` of a text; `known` is what else is known, as JSON.

    `siblings`, `complete` and `provenance` are of all, the rest is said of the recording.
    """
    facts = json.loads(known)
    of_all = {name: facts.pop(name) for name in OF_ALL if name in facts}
    return document(recording(*records(text), **facts), **of_all)


OF_ALL = ("siblings", "complete", "provenance")
KINDS = {
    "album": "Album", "single": "Single", "EP": "EP", "live": "Album+Live",
    "soundtrack": "Album+Soundtrack", "compilation": "Album+Compilation",
    "various": "Album+Compilation", "untyped": "",
}  # fmt: skip
STATUSES = {
    "promo": "Promotion", "bootleg": "Bootleg", "pseudo": "Pseudo-Release",
    "withdrawn": "Withdrawn", "cancelled": "Cancelled", "unknown": None, "unstated": None,
}  # fmt: skip


def records(text: str) -> list[Json]:
    """Records as a line of text: `S single 1974-10-11; A album 1974-11-08@US undated/promo`.

    A release is a date, `=` its id, `@` its country (else GB), `/` its status (else official), `%`
    its format, `#` its comment, with `_` for a space. `group:DATE` is the group's own date,
    `by:NAME` its credit, `by:-` none, `title:TEXT` its title if not the name, `premiere:yes` that a
    verified fact calls it the first.
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
    return record(name, KINDS.get(kind, kind), *made, **more)


def _release(word: str) -> Json:
    word, _, comment = word.partition("#")
    word, _, made = word.partition("%")
    place, _, status = word.partition("/")
    place, _, country = place.partition("@")
    date, _, name = place.partition("=")
    more: Json = {"mb_release_id": name} if name else {}
    if comment:
        more["disambiguation"] = comment.replace("_", " ")
    return release(
        None if date == "undated" else date, country or "GB",
        status=STATUSES[status] if status else "Official", format=made.replace("_", " ") or None,
        **more,
    )  # fmt: skip


_TAKE = re.compile(r"(\w+) on (?:\((.*?)\)|(\w+))(.*)")


def takes(text: str, homes: Mapping[str, Json]) -> list[Json]:
    """Recordings as a line of text: `a on S length:243 + b on (A album 1974) title:Song_(live)`.

    Each is on one of `homes`, or on records as `records` reads them. What is said of it, with `_`
    for a space: `title:`, `comment:`, `isrc:`, `length:` in seconds, `flag:`, `by:` the credit of
    the record, `artist:NAME=ID`, `sibling`.
    """
    made = []
    for part in text.split(" + "):
        found = _TAKE.fullmatch(part)
        assert found, part
        name, listed, home, words = found.groups()
        groups = [homes[home]] if home else records(listed)
        made.append(take(name, *groups, **_said_of(words.split())))
        if credit := re.search(r" by:(\S+)", words):
            made[-1]["rg_candidates"] = [groups[0] | {"artist_credit": _spaced(credit[1])}]
    return made


def _said_of(words: list[str]) -> Json:
    more: Json = {}
    for word in words:
        key, _, value = word.partition(":")
        match key:
            case "length":
                more["length_ms"] = int(value) * 1_000
            case "comment":
                more["disambiguation"] = _spaced(value)
            case "isrc":
                more["isrcs"] = [value]
            case "flag":
                more["flags"] = {value: True}
            case "sibling":
                more["relation"] = "sibling"
            case "title":
                more["title"] = _spaced(value)
            case "artist":
                artist, _, known_by = _spaced(value).partition("=")
                more["artist"] = {"name": artist, "mb_artist_id": known_by}
            case _:
                assert key == "by", word
    return more


def _spaced(text: str) -> str:
    return text.replace("_", " ")


def cases(name: str | Path, *, is_named: bool = True, most: int = 0) -> list[Any]:
    """The cases in a file of this folder: a line each, its fields parted by ` | `, `#` a comment.

    Where `is_named`, the first field is what the case claims. The last of `most` fields may hold
    ` | `.
    """
    lines = (Path(__file__).parent / name).read_text("utf-8").splitlines()
    rows = [line.split(" | ", most - 1) for line in lines if line and not line.startswith("# ")]
    return [pytest.param(*row[1:], id=row[0]) if is_named else tuple(row) for row in rows]
