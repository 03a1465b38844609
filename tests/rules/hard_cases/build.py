"""Cases as a person would write them down, expanded into evidence bundles.

A case is a block of lines:

    == lead-killer-queen | lead window
    Queen (GB) - Killer Queen | 3:00 | isrc GBAYE7400001
    S Single "Killer Queen" 1974-10-11 GB 7"; 1974-10-21 US 7"
    A Album "Sheer Heart Attack" [own 1974-11-08] 1974-11-08 GB LP
    > A ALBUM_LEAD_WINDOW rr 1
    The album follows the single after four weeks.

The first line has the id and the clause it stands for, the second the artist with their country,
the song, and what is known of recording and evidence: a length, `isrc`, `first` (MusicBrainz' own
date), `said` (the comment), `file` (the length of the file), `sibling` (looked up as another
recording of the performance), `siblings` (they were looked up), `cut short`, `whole`. A line
`+ Song | ...` begins another recording. A record has a label, a type, a title, in brackets its own
date, credit or a verified premiere, then its releases: date (`-`: none), country, medium, status,
`^Label`, `(comment)`. `>` is what must come out, the last line the reason. The label is the id of a
record; the release that stands first in its list has the id `A.1`.
"""

import re
from pathlib import Path
from typing import NamedTuple

from rules.making import KINDS, STATUSES, Json, record, take

_RECORD = re.compile(r'(\w+) (\S+) "([^"]*)"((?: \[[^]]*\])*) ?(.*)')
_MEDIA = {
    '7"': '7" Vinyl', '12"': '12" Vinyl', "LP": '12" Vinyl', "CD": "CD", "MC": "Cassette",
    "web": "Digital Media", "78": '10" Shellac', "SACD": "SACD", "DVD": "DVD", "MD": "MiniDisc",
    "Blu-ray": "Blu-ray",
}  # fmt: skip
_TYPES = {"Comp": "compilation", "VA": "various", "?": "untyped"}


class Case(NamedTuple):
    """A case: its id, the clause it stands for, its evidence, what must come out, why."""

    id: str
    clause: str
    bundle: Json
    expected: str
    reason: str


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file."""
    blocks = re.split(r"^== ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [_case([line for line in block.splitlines() if line.strip()]) for block in blocks]


def _case(lines: list[str]) -> Case:
    name, _, clause = lines[0].partition(" | ")
    at = next(n for n, line in enumerate(lines) if line.startswith("> "))
    reason = " ".join(line for line in lines[at + 1 :] if not line.startswith("#"))
    return Case(name, clause, _bundle(name, lines[1:at]), lines[at][2:], reason)


def _bundle(case: str, lines: list[str]) -> Json:
    found = re.fullmatch(r"(.+?) \((\w\w|-)\) - (.+)", lines[0])
    assert found, f"{case}: {lines[0]!r} is not ARTIST (COUNTRY) - SONG"
    artist, country, song = found.groups()
    bundle: Json = {
        "artist": {"name": artist, "begin_area_country": None if country == "-" else country},
        "recording_title": song.partition(" | ")[0],
        "recording_candidates": [],
    }
    recordings: list[Json] = bundle["recording_candidates"]
    ids: dict[str, list[str]] = {}
    for line in (f"+ {song}", *lines[1:]):
        if line.startswith("+ "):
            title, *notes = line[2:].split(" | ")
            recordings.append(take(f"r{len(recordings)}", title=title))
            for note in notes:
                _put(note, recordings[-1], bundle)
        else:
            recordings[-1]["rg_candidates"].append(_record(line, artist, ids))
    return bundle


def _put(note: str, recording: Json, bundle: Json) -> None:
    word, _, value = note.partition(" ")
    match word:
        case "isrc":
            recording["isrcs"] = value.split()
        case "first":
            recording["first_release_date"] = value
        case "said":
            recording["disambiguation"] = value
        case "file":
            bundle["artifact"] = {"duration_ms": _milliseconds(value), "tags": {}}
        case "sibling":
            recording |= {"relation": "sibling", "because": "an equal ISRC"}
            bundle["siblings"] = "looked_up"
        case "siblings":
            bundle["siblings"] = "looked_up"
        case "cut" | "whole":
            bundle["complete"] = word == "whole"
        case _:
            recording["length_ms"] = _milliseconds(note)


def _record(line: str, artist: str, ids: dict[str, list[str]]) -> Json:
    """Read a record; `ids` has the texts of its releases, of which each has one id."""
    found = _RECORD.fullmatch(line)
    assert found, line
    label, kind, title, notes, listed = found.groups()
    known = dict((*note.split(" ", 1), "")[:2] for note in re.findall(r"\[([^]]*)\]", notes))
    texts = [text.strip() for text in listed.split(";") if text.strip()]
    names = ids.setdefault(label, [])
    names += texts
    made = [
        _release(text) | {"mb_release_id": f"{label}.{names.index(text) + 1}", "title": title}
        for text in texts
    ]
    named = _TYPES.get(kind, kind)
    return record(
        label,
        KINDS.get(named.lower(), named),
        *made,
        title=title,
        artist_credit=known.get("by", "Various Artists" if kind == "VA" else artist),
        first_release_date=known.get("own"),
        premiere=True if "premiere" in known else None,
    )


def _release(text: str) -> Json:
    comment = re.search(r" \((.*)\)", text)
    date, *words = re.sub(r" \(.*\)", "", text).split()
    made: Json = {
        "date": None if date == "-" else date,
        "status": "Official",
        "disambiguation": comment[1] if comment else None,
    }
    for word in words:
        if word in STATUSES:
            made["status"] = STATUSES[word]
        elif word in _MEDIA:
            made["format"] = _MEDIA[word]
        elif word.startswith("^"):
            made["label"] = word[1:].replace("_", " ")
        else:
            assert re.fullmatch(r"[A-Z]{2}", word), f"{word!r} in {text!r} is not understood"
            made["country"] = word
    return made


def _milliseconds(length: str) -> int:
    minutes, seconds = length.split(":")
    return (int(minutes) * 60 + int(seconds)) * 1000
