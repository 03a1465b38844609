"""Worlds of the MusicBrainz stand-in, written as tables.

A line is `artist | types | title | releases | recordings`: types joined by `+`, `Various` among
them for a record by various artists; releases as
`1974-02 GB promo`, official unless they say `promo` or `bootleg`; recordings as
`name Title [comment] 3:58 ISRC`, the same name for the same recording. Names stand for ids.
"""

import re
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from servers.musicbrainz_xml import VARIOUS_NAME

_RECORDING = re.compile(r"(\S+) (.*?) (\d+):(\d\d)(?: ([A-Z0-9]{12}))?")
_STATUSES = {"promo": "Promotion", "bootleg": "Bootleg"}


def id_of(name: str) -> str:
    """Return the id that a name of a world stands for."""
    return str(uuid5(NAMESPACE_URL, name))


def world(table: str) -> list[dict[str, Any]]:
    """Return a bundle for each recording of a world."""
    found: dict[str, dict[str, Any]] = {}
    for line in filter(str.strip, table.splitlines()):
        artist, types, title, releases, recordings = (each.strip() for each in line.split(" | "))
        group = _group(types, title, releases)
        for written in recordings.split("; "):
            bundle = found.setdefault(written, _bundle(artist, written))
            (recording,) = bundle["recording_candidates"]
            recording["rg_candidates"].append(group)
            dates = [each["first_release_date"] for each in recording["rg_candidates"]]
            recording["first_release_date"] = min(dates)
    return list(found.values())


def evidence(table: str, *names: str) -> dict[str, Any]:
    """Return the bundle of some recordings of a world, by their names."""
    ids = list(map(id_of, names))
    found = {each["recording_candidates"][0]["mb_recording_id"]: each for each in world(table)}
    recordings = [found[one]["recording_candidates"][0] for one in ids]
    return found[ids[0]] | {"recording_candidates": recordings}


def _bundle(artist: str, written: str) -> dict[str, Any]:
    read = _RECORDING.fullmatch(written)
    assert read, written
    name, named, minutes, seconds, isrc = read.groups()
    title, _, comment = named.rstrip("]").partition(" [")
    recording = {
        "mb_recording_id": id_of(name),
        "title": title,
        "disambiguation": comment or None,
        "length_ms": 1_000 * (60 * int(minutes) + int(seconds)),
        "isrcs": [isrc] if isrc else [],
        "rg_candidates": [],
    }
    return {
        "version": 1,
        "artist": {"name": artist, "mb_artist_id": id_of(artist), "begin_area_country": "GB"},
        "recording_title": title,
        "recording_candidates": [recording],
    }


def _group(types: str, title: str, releases: str) -> dict[str, Any]:
    primary, *kinds = types.split("+")
    various = {"artist_credit": VARIOUS_NAME} if "Various" in kinds else {}
    return various | {
        "mb_rg_id": id_of(title),
        "title": title,
        "primary_type": primary,
        "secondary_types": [kind for kind in kinds if kind != "Various"],
        "first_release_date": releases.split(maxsplit=1)[0],
        "releases": [_release(title, each) | various for each in releases.split(", ")],
    }


def _release(title: str, written: str) -> dict[str, Any]:
    date, *words = written.split()
    return {
        "mb_release_id": id_of(f"{title} {written}"),
        "title": title,
        "date": date,
        "country": next((word for word in words if word.isupper()), None),
        "status": next((_STATUSES[word] for word in words if word in _STATUSES), "Official"),
        "format": "CD" if date >= "1983" else '12" Vinyl',
    }
