"""Doubts about a year: statements by which a song's first date may not be that of a recording.

If MusicBrainz lists a recording on later records only, a date of the song by its artist stands for
it. It does not if the song was on an earlier record, or if the artist recorded it again, because
the recording may be the newer one. A doubt needs no second reading: it only prevents a decision.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.patches import THE_RECORDING, Patch, fact_words
from chart_binder.domain.vocabulary import spaced_words
from chart_binder.web.clauses import says_release
from chart_binder.web.documents import SourceText
from chart_binder.web.judgement import dates_about, other_events
from chart_binder.web.passages import CELLS
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject

_NAME = re.compile(
    r"[\s\"'“”„«‘’:|]*([^\n|.,;()\"“”«»\[\]]{1,60})[\s\"'“”»’|]*(?:\(\D{0,20}(\d{4}))?"
)
"""The name of an album after the word, with the year in brackets."""
_YEAR = re.compile(r"(?<!\d)(?:18|19|20)\d\d(?!\d)")
_LONGEST_ENTRY = 150


def year_doubts(
    patch: Patch, documents: Sequence[SourceText], bundle: EvidenceBundle
) -> Iterator[str]:
    """Yield sentences on what pages say against a date as the first of the recording."""
    yield from dict.fromkeys(_doubts(patch, documents, bundle))


def _doubts(patch: Patch, documents: Sequence[SourceText], bundle: EvidenceBundle) -> Iterator[str]:
    song = Subject.of(THE_RECORDING, bundle)
    year = int(patch.value[:4])
    for document in documents:
        if not song.is_told_apart_in(f"{document.title} {document.text}"):
            continue
        is_on_song = song.is_named_in(document.title)
        for line in document.text.split("\n"):
            if not (is_on_song or song.is_named_in(line)):
                continue
            if match := _anew().search(line):
                yield f"{document.address} says of another recording of it {match[0]!r}"
            yield from _albums(line, year, documents, song, document.address)
        if not is_on_song and (dated := _earlier_record(document, year, song)):
            yield f"{document.address} has it on a record of {dated}"


@cache
def _anew() -> re.Pattern[str]:
    return _pattern(fact_words()["of_song"]["anew"])


@cache
def _of_album() -> Sequence[re.Pattern[str]]:
    return [_pattern((words,)) for words in fact_words()["of_song"]["album"]]


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?i)(?<!\w)(?:{'|'.join(words)})(?!\w)")


def _albums(
    line: str, year: int, documents: Sequence[SourceText], song: Subject, address: str
) -> Iterator[str]:
    """Yield albums that a line says the song is from, unless they are from the year or later."""
    for pattern in _of_album():
        for phrase in pattern.finditer(line):
            name = _NAME.match(line, phrase.end())
            title = " ".join(name[1].split()) if name else ""
            words = spaced_words(title)
            records = song.other_records.titles
            if not title or any(record in words or words in record for record in records):
                continue
            year_text = phrase.groupdict().get("year") or (name and name[2])
            years = [int(year_text)] if year_text else _years_of(title, documents, song)
            if not years:
                yield f"{address} says that it is from the album {title!r}, whose date was not read"
            elif min(years) < year:
                yield f"{address} says that it is from the album {title!r} of {min(years)}"


def _years_of(title: str, documents: Sequence[SourceText], song: Subject) -> list[int]:
    """Return the years that pages give an album."""
    titles = frozenset({spaced_words(title)})
    other_records = replace(song.other_records, types=frozenset())
    album = replace(
        song,
        title=title,
        titles=titles,
        primary_type="Album",
        kind="Album",
        other_records=other_records,
    )
    return [
        int(date.mention.dates[0].text[:4])
        for date in dates_about(documents, album, lambda mention: len(mention.dates) == 1)
        if date.is_plain and album.is_named_in(" ".join((date.place.line, *date.place.above)))
    ]


def _earlier_record(document: SourceText, year: int, song: Subject) -> str | None:
    """Return the date of an earlier record whose page lists the song without a date."""
    lists_it = any(
        len(line) <= _LONGEST_ENTRY and song.is_named_in(line) and not _YEAR.search(line)
        for line in document.text.split("\n")
    )
    for mention in document.mentions if lists_it else ():
        place = Place.of(document, mention)
        is_box = place.is_structured and place.line.count(CELLS) <= 1
        if len(mention.dates) == 1 and is_box and says_release(place.line):
            text = mention.dates[0].text
            if int(text[:4]) < year and not any(other_events(place, song)):
                return text
    return None
