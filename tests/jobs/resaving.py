"""Files that another program saves after they were written: an undo must not show in them.

The reference is the file that was never written, saved by the same program.

As a program it prints, for each edit, how many undone files say what the reference says.
"""

import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import mutagen
from mutagen.id3 import ID3, ID3NoHeaderError

from audio.odd_files import ODD, bare, frame, id3, id3v1, make
from audio.tagging import VARIANTS, WANTED
from chart_binder.audio.containers import read_tag_set
from chart_binder.audio.fields import all_fields, copied_items, with_fields
from chart_binder.domain.records import WriteRecord
from chart_binder.jobs.journal import WritingRun
from chart_binder.jobs.stored_decisions import new_run
from chart_binder.jobs.undo import undo_writes
from chart_binder.jobs.write import WriteReport
from chart_binder.store import Store, open_store

try:
    import taglib
except ImportError:
    taglib = None

Fields = Mapping[str, tuple[str, ...]]

POLICIES: dict[str, Fields] = {
    "dates": {name: WANTED[name] for name in ("original_date", "original_year", "decision_trace")},
    "note": {name: texts for name, texts in WANTED.items() if name.startswith("note_")}
    | {"decision_trace": WANTED["decision_trace"]},
    "move": {name: texts for name, texts in WANTED.items() if not name.startswith("note_")}
    | {"release_date": (), "asin": (), "disc_id": ()},
}
"""The fields that each policy writes."""


def do_nothing(_: Path) -> None:
    """Leave a file as it is."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A save by another program, and whether it is one for a file of this suffix."""

    name: str
    save: Callable[[Path], None]
    suffixes: frozenset[str]


def _by_mutagen(path: Path) -> None:
    audio: Any = mutagen.File(path)
    if audio.tags is None:
        audio.add_tags()
    audio.save()


def _id3_by_mutagen(path: Path, *, version: int, v1: int, is_translated: bool = True) -> None:
    try:
        tags = ID3(path, v2_version=version if is_translated else 4)
    except ID3NoHeaderError:
        tags = ID3()
    tags.save(path, v2_version=version, v1=v1)


def _chunk_by_mutagen(path: Path, *, version: int) -> None:
    audio: Any = mutagen.File(path)
    if audio.tags is None:
        audio.add_tags()
    if version == 3:
        audio.tags.update_to_v23()
    audio.tags.save(path, v2_version=version)


def _by_taglib(path: Path) -> None:
    with taglib.File(path) as file:
        file.save()


_ID3 = frozenset({".mp3"})
_CHUNKS = frozenset({".aiff", ".wav", ".dsf"})
_OTHERS = frozenset({".flac", ".ogg", ".opus", ".m4a", ".wma", ".ape", ".wv", ".mpc"})

EDITS = (
    *(
        Edit(f"mutagen 2.{version} v1={v1}", partial(_id3_by_mutagen, version=version, v1=v1), _ID3)
        for version in (3, 4)
        for v1 in (0, 1, 2)
    ),
    Edit(
        "mutagen 2.3 with names of 2.4",
        partial(_id3_by_mutagen, version=3, v1=1, is_translated=False),
        _ID3,
    ),
    *(
        Edit(f"mutagen chunk 2.{version}", partial(_chunk_by_mutagen, version=version), _CHUNKS)
        for version in (3, 4)
    ),
    Edit("mutagen", _by_mutagen, _OTHERS),
    *([Edit("TagLib", _by_taglib, _ID3 | _CHUNKS | _OTHERS)] if taglib else []),
)


# Frames as other programs write them, under their names of ID3v2.3: odd texts, and usual ones.
VALUES: dict[str, tuple[str, ...]] = {
    "TALB": ("", "Undertow", " Undertow ", "A/B", "Ænima", "東京", "x\0"),
    "TPE2": ("Tool", ""),
    "TYER": ("1993", "93", "", "1993-04-06", "0000"),
    "TDAT": ("0604", "3113", ""),
    "TIME": ("1230", "", "9999"),
    "TORY": ("", "1991", "91"),
    "TRCK": ("02/14", "2", "", "A2", "2/"),
    "TPOS": ("01/02", "0"),
    "TCMP": ("1", "0", ""),
    "TPUB": ("Zoo/BMG", ""),
    "TMED": ("CD",),
    "TXXX:originalyear": ("", "1991"),
    "TXXX:CATALOGNUMBER": ("72445-11052-2", ""),
    "TXXX:MusicBrainz Album Id": ("1e477f68-c407-4eae-ad01-518528cedc2c", ""),
    "TXXX:RELEASEDATE": ("1994",),
    "UFID:http://musicbrainz.org": ("b1a9c0e9-d987-4042-ae91-78d6a3267d69",),
    "TIT2": ("Sober",),
    "TCON": ("Metal", "(9)"),
}
NEW_VALUES: dict[str, tuple[str, ...]] = {
    "TDRC": (
        "1993", "1993-04", "1993-04-06", "1993-04-06T12:30", "1993-04-06 12:30:15", "", "93",
        "1993-00-00",
    ),
    "TDOR": ("", "1991", "1991-02-03", "1991-02-03T04:05:06"),
    "TDRL": ("1994-05", ""),
    "TSST": ("Bonus",),
    "TALB": ("Undertow\0Other", ""),
}  # fmt: skip
"""Frames of ID3v2.4 alone."""

_SHORT = {
    "TALB": "TAL", "TPE2": "TP2", "TYER": "TYE", "TDAT": "TDA", "TIME": "TIM", "TORY": "TOR",
    "TRCK": "TRK", "TPOS": "TPA", "TCMP": "TCP", "TPUB": "TPB", "TMED": "TMT", "TXXX": "TXX",
    "UFID": "UFI", "TIT2": "TT2", "TCON": "TCO",
}  # fmt: skip


def id3_frame(version: int, key: str, text: str) -> bytes:
    """Return a frame as other programs write it: in Latin-1 or UTF-16, in 2.4 in UTF-8."""
    name, _, description = key.partition(":")
    if name == "UFID":
        content = description.encode() + b"\0" + text.encode()
    elif version == 4:
        content = b"\3" + (f"{description}\0" if description else "").encode() + text.encode()
    elif text.isascii():
        content = b"\0" + (f"{description}\0" if description else "").encode() + text.encode()
    else:
        before = description.encode("utf-16") + b"\0\0" if description else b""
        content = b"\1" + before + text.encode("utf-16")
    if version == 2:
        return _SHORT[name].encode() + len(content).to_bytes(3, "big") + content
    return frame(name, content, version)


def id3_file(version: int, frames: Mapping[str, str], tail: bytes = b"") -> bytes:
    """Return an MP3 file with a tag of these frames."""
    body = b"".join(id3_frame(version, key, text) for key, text in frames.items())
    return id3(version, 0, body, padding=200) + bare("bare.mp3") + tail


def odd_tags() -> Iterator[tuple[str, bytes]]:
    """Yield MP3 files with each of the values, alone and together with usual ones."""
    for version in (2, 3, 4):
        values = dict(VALUES)
        if version == 4:
            values = {
                key: texts
                for key, texts in (*VALUES.items(), *NEW_VALUES.items())
                if key not in ("TYER", "TDAT", "TIME", "TORY", "TXXX:RELEASEDATE")
            }
        usual = {key: next(filter(None, texts)) for key, texts in values.items()}
        for key, texts in values.items():
            for text in texts:
                yield f"2.{version} {key}={text!r}", id3_file(version, {"TIT2": "Sober", key: text})
                yield f"2.{version} all, {key}={text!r}", id3_file(version, usual | {key: text})
        yield f"2.{version} all, ID3v1", id3_file(version, usual, id3v1())
        yield f"2.{version} title, ID3v1", id3_file(version, {"TIT2": "Sober"}, id3v1())


def originals(folder: Path) -> Iterator[tuple[str, Path]]:
    """Make the files that are written: each kind, odd ones, and ID3 tags with odd values."""
    for number, variant in enumerate(VARIANTS):
        place = folder / f"variant{number}"
        place.mkdir()
        yield variant.name, variant.make(place)
    for number, name in enumerate(ODD):
        place = folder / f"odd{number}"
        place.mkdir()
        yield name, make(name, place)
    for number, (name, content) in enumerate(odd_tags()):
        path = folder / f"id3-{number}.mp3"
        path.write_bytes(content)
        yield name, path


Seen = dict[str, tuple[str, ...]]

_SECONDS = re.compile(r"(\d\d:\d\d):00")
_LONGEST = 300


def seen(path: Path, *, with_id3v1: bool = False) -> Seen:
    """Return what mutagen reads, key by key; of ID3v2 under the names of version 2.4."""
    tags: Any = {}
    with suppress(ID3NoHeaderError):
        tags = ID3(path, load_v1=with_id3v1)
    if not tags and path.suffix not in _ID3:
        with suppress(mutagen.MutagenError):
            audio: Any = mutagen.File(path)
            tags = (audio.tags if audio else None) or {}
    result: Seen = {}
    for key, value in tags.items():
        texts = getattr(value, "text", value)
        every = texts if isinstance(texts, list) else [texts]
        # mutagen adds seconds to a time that has none.
        name = "TXXX:RELEASEDATE" if key == "TDRL" else key.upper()
        result[name] = tuple(_SECONDS.sub(r"\1", str(text)[:_LONGEST]) for text in every)
    return result


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a file says after the undo of a write, and what the reference says."""

    undone: Seen
    undone_with_id3v1: Seen
    reference: Seen
    record: WriteRecord
    report: WriteReport
    fields: Fields

    def differences(self) -> Iterator[str]:
        """Yield the keys that differ, but for what the other program lost and the undo did not."""
        ours = {text for texts in self.fields.values() for text in texts}
        for key in sorted({*self.undone, *self.reference}):
            undone, reference = self.undone.get(key, ()), self.reference.get(key, ())
            is_more = "/".join(undone).startswith("/".join(reference)) and ours.isdisjoint(undone)
            is_same = reference in (undone, self.undone_with_id3v1.get(key))
            if not is_same and not is_more:
                yield f"{key}: {undone} for {reference}"


def outcome(
    store: Store,
    original: Path,
    folder: Path,
    fields: Fields,
    save: Callable[[Path], None],
    change: Callable[[Path], None] = do_nothing,
) -> Outcome | None:
    """Write a file, have it saved by another program, undo the write.

    Returns `None` if one of them has nothing to change or does not write such files. `change` is
    made before that save, in the reference, too. A file whose own tag says nothing is compared with
    what its other tags said before.
    """
    reference, path = (folder / f"{name}{original.suffix}" for name in ("reference", "written"))
    for copy in (reference, path):
        shutil.copy(original, copy)
    before = read_tag_set(original)
    record = write(store, path, fields)
    if record is None:
        return None
    try:
        change(reference)
        save(reference)
    except (mutagen.MutagenError, OSError):
        return None  # the other program does not write such a file
    change(path)
    save(path)
    report = undo(store, record)
    if copied_items(before):
        after = read_tag_set(path)
        return Outcome(all_fields(after), {}, all_fields(before), record, report, fields)
    undone, undone_with_id3v1 = seen(path), seen(path, with_id3v1=True)
    return Outcome(undone, undone_with_id3v1, seen(reference), record, report, fields)


def write(store: Store, path: Path, fields: Fields) -> WriteRecord | None:
    """Write fields into a file; return the record of it."""
    run = WritingRun(store, new_run("write"))
    _, record = run.save(path, partial(with_fields, fields=fields), None)
    run.end(0)
    return record


def undo(store: Store, record: WriteRecord, *, force: bool = False) -> WriteReport:
    """Undo a write."""
    run = WritingRun(store, new_run("undo"))
    (report,) = undo_writes([record], run, force=force)
    run.end(0)
    return report


def combinations(folder: Path, step: int) -> Iterator[tuple[str, Path, Edit, str]]:
    """Make the originals; yield every `step`th combination of one with an edit and a policy."""
    every = (
        (label, original, edit, policy)
        for label, original in originals(folder)
        for edit in EDITS
        if original.suffix.lower() in edit.suffixes
        for policy in POLICIES
    )
    return islice(every, None, None, step)


def main(step: int) -> None:
    """Print what differs in every `step`th combination, then how many of each edit do not."""
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as name, open_store(f"sqlite:///{name}/store.db") as store:
        folder = Path(name)
        for label, original, edit, policy in combinations(folder, step):
            place = Path(tempfile.mkdtemp(dir=folder))
            result = outcome(store, original, place, POLICIES[policy], edit.save)
            shutil.rmtree(place)
            if result is None:
                continue
            texts = list(result.differences())
            kind = "differs" if texts else "equal"
            if result.report.status not in ("undone", "unchanged") or result.report.kept_keys:
                kind += f", {result.report.status}, {len(result.report.kept_keys)} kept"
                texts += [str(result.report.why), *(key.field for key in result.report.kept_keys)]
            counts[edit.name, kind] += 1
            if texts:
                print(f"{label} | {edit.name} | {policy}: {'; '.join(texts)}")  # noqa: T201
    for (edit_name, kind), count in sorted(counts.items()):
        print(f"{count:6} {edit_name}: {kind}")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]))
