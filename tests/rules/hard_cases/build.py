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
`^Label`, `(comment)`. `>` is what must come out, the last line the reason.
"""

import random
import re
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid5

Json = dict[str, Any]

_SPACE = UUID("6c1e1a0e-3c3f-5b6e-9a53-0f6a7c1d2b90")
_RECORD = re.compile(r'(\w+) (\S+) "([^"]*)"((?: \[[^]]*\])*) ?(.*)')
_TYPES = {
    "Comp": "Album+Compilation", "VA": "Album+Compilation", "Live": "Album+Live",
    "Soundtrack": "Album+Soundtrack", "?": "",
}  # fmt: skip
_MEDIA = {
    '7"': '7" Vinyl', '12"': '12" Vinyl', "LP": '12" Vinyl', "CD": "CD", "MC": "Cassette",
    "web": "Digital Media", "78": '10" Shellac', "SACD": "SACD", "DVD": "DVD", "MD": "MiniDisc",
    "Blu-ray": "Blu-ray",
}  # fmt: skip
_STATUSES = {
    "promo": "Promotion", "bootleg": "Bootleg", "pseudo": "Pseudo-Release",
    "withdrawn": "Withdrawn", "cancelled": "Cancelled", "unstated": None,
}  # fmt: skip


class Case(NamedTuple):
    """A case: its id, the clause it stands for, its evidence in words, what must come out, why."""

    id: str
    clause: str
    lines: tuple[str, ...]
    expected: str
    reason: str

    def bundle(self, order: int = 0) -> Json:
        """Return the evidence; every `order` but 0 has other ids and another order."""
        return _bundle(self.lines, self._seed(order), random.Random(order) if order else None)

    def id_of(self, name: str, order: int = 0) -> str:
        """Return the id of the record labelled `name`, or of its release `name.N` (1, 2, ...)."""
        label, _, number = name.partition(".")
        listed = [one for line in self.lines if (one := _RECORD.match(line)) and one[1] == label]
        if not listed:
            raise KeyError(f"{self.id}: no record {label!r}")
        releases = [words for one in listed for words in _releases(one[5])]
        key = _release_key(label, releases[int(number) - 1]) if number else label
        return _made_id(self._seed(order), key)

    def _seed(self, order: int) -> str:
        return f"{self.id} {order or ''}"


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file."""
    blocks = re.split(r"^== ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [_case([line for line in block.splitlines() if line.strip()]) for block in blocks]


def _case(lines: list[str]) -> Case:
    name, _, clause = lines[0].partition(" | ")
    at = next(n for n, line in enumerate(lines) if line.startswith("> "))
    reason = " ".join(line for line in lines[at + 1 :] if not line.startswith("#"))
    return Case(name, clause, tuple(lines[1:at]), lines[at][2:], reason)


def _bundle(lines: tuple[str, ...], seed: str, shuffle: random.Random | None) -> Json:
    found = re.fullmatch(r"(.+?) \((\w\w|-)\) - (.+)", lines[0])
    if not found:
        raise ValueError(f"{seed}: {lines[0]!r} is not ARTIST (COUNTRY) - SONG")
    artist, country, rest = found.groups()
    title, *notes = rest.split(" | ")
    bundle: Json = {
        "version": 1,
        "artist": {"name": artist, "mb_artist_id": _made_id("artist", artist),
                   "begin_area_country": None if country == "-" else country},
        "recording_title": title,
        "recording_candidates": [],
    }  # fmt: skip
    recordings: list[Json] = bundle["recording_candidates"]
    _add_recording(bundle, seed, title, notes)
    for line in lines[1:]:
        if line.startswith("+ "):
            title, *notes = line[2:].split(" | ")
            _add_recording(bundle, seed, title, notes)
        else:
            recordings[-1]["rg_candidates"].append(_record(line, seed, artist))
    if shuffle:
        for recording in recordings:
            shuffle.shuffle(recording["rg_candidates"])
            for group in recording["rg_candidates"]:
                shuffle.shuffle(group["releases"])
        shuffle.shuffle(recordings)
    return bundle


def _add_recording(bundle: Json, seed: str, title: str, notes: list[str]) -> None:
    recordings = bundle["recording_candidates"]
    made: Json = {"mb_recording_id": _made_id(seed, f"recording {len(recordings)}"),
                  "title": title, "isrcs": [], "rg_candidates": []}  # fmt: skip
    recordings.append(made)
    for note in notes:
        word, _, value = note.partition(" ")
        if re.fullmatch(r"\d+:\d\d", note):
            made["length_ms"] = _milliseconds(note)
        elif word == "isrc":
            made["isrcs"] = value.split()
        elif word in ("first", "said"):
            made["first_release_date" if word == "first" else "disambiguation"] = value
        elif word == "file":
            bundle["artifact"] = {"duration_ms": _milliseconds(value), "tags": {}}
        elif note == "sibling":
            made |= {"relation": "sibling", "because": "an equal ISRC"}
            bundle["siblings"] = "looked_up"
        elif note == "siblings":
            bundle["siblings"] = "looked_up"
        elif note in ("cut short", "whole"):
            bundle["complete"] = note == "whole"
        else:
            raise ValueError(f"{seed}: {note!r} is not understood")


def _record(line: str, seed: str, artist: str) -> Json:
    found = _RECORD.fullmatch(line)
    if not found:
        raise ValueError(f"{seed}: {line!r} is no record")
    label, kind, title, notes, releases = found.groups()
    primary, *secondary = _TYPES.get(kind, kind).split("+")
    known = dict((*note.split(" ", 1), "")[:2] for note in re.findall(r"\[([^]]*)\]", notes))
    return {
        "mb_rg_id": _made_id(seed, label),
        "title": title,
        "artist_credit": known.get("by", "Various Artists" if kind == "VA" else artist),
        "primary_type": primary or None,
        "secondary_types": secondary,
        "first_release_date": known.get("own"),
        "premiere": True if "premiere" in known else None,
        "releases": [_release(words, label, seed, title) for words in _releases(releases)],
    }


def _releases(text: str) -> list[str]:
    return [one.strip() for one in text.split(";") if one.strip()]


def _release(text: str, label: str, seed: str, title: str) -> Json:
    comment = re.search(r" \((.*)\)", text)
    date, *words = re.sub(r" \(.*\)", "", text).split()
    made: Json = {
        "mb_release_id": _made_id(seed, _release_key(label, text)),
        "title": title,
        "date": None if date == "-" else date,
        "status": "Official",
        "disambiguation": comment[1] if comment else None,
    }
    for word in words:
        if word in _STATUSES:
            made["status"] = _STATUSES[word]
        elif word in _MEDIA:
            made["format"] = _MEDIA[word]
        elif word.startswith("^"):
            made["label"] = word[1:].replace("_", " ")
        elif re.fullmatch(r"[A-Z]{2}", word):
            made["country"] = word
        else:
            raise ValueError(f"{seed}: {word!r} in {text!r} is not understood")
    return made


def _release_key(label: str, text: str) -> str:
    return f"{label}: {text}"


def _made_id(seed: str, name: str) -> str:
    return str(uuid5(_SPACE, f"{seed}|{name}"))


def _milliseconds(length: str) -> int:
    minutes, seconds = length.split(":")
    return (int(minutes) * 60 + int(seconds)) * 1000
