"""Records of an ID3v2 tag in another version of it.

Programs save a tag of version 2.2 or 2.3 as 2.4, or the other way round: frames get other names,
several values become one, and the frames of a date are joined or split.

Formats: as in `audio.containers.mp3`; the changes of names are in https://id3.org/id3v2.4.0-changes
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from chart_binder.audio.containers.mp3 import id3_texts, text_frame
from chart_binder.audio.field_table import BEFORE_2_4, key_of_version, long_key
from chart_binder.audio.tagset import PlacedItem, TagBlock, TagChange

Texts = tuple[str, ...]

# The frame of a date in ID3v2.4, and the frames that it is split into in earlier versions.
_DATES = {"TDRC": ("TYER", "TDAT", "TIME"), "TDOR": ("TORY",)}
_DATE_OF = {key: date for date, keys in _DATES.items() for key in (date, *keys)}

# Frames of ID3v2.4 alone, which programs drop when they save another version.
_OF_2_4_ALONE = {"TDRL": "TXXX:RELEASEDATE", "TSST": "TSST"}

_WHOLE_DATE = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:[T ](?P<time>\d\d:\d\d))?)?)?"
)
_FOUR_DIGITS = re.compile(r"(\d\d)(\d\d)")
_LAST = 1 << 16


def date_frame(form: str, key: str) -> str | None:
    """Return the frame of ID3v2.4 for a frame that holds a date or a part of one."""
    return _DATE_OF.get(long_key(form, key)) if form.startswith("id3v2") else None


def changes_in_block(
    changes: Iterable[TagChange], unchanged: Mapping[str, Texts], block: TagBlock
) -> Iterator[TagChange]:
    """Yield recorded changes of an ID3v2 tag as changes of `block`, the same tag as it is now.

    Those that are recorded for its version keep their bytes; others get its names, and their texts
    as they were. `unchanged` has the texts of all keys after the changes: a date may have changed
    in one of its frames only.
    """
    present = {long_key(block.form, item.key) for item in block.items}
    dates: dict[str, list[TagChange]] = {}
    for change in changes:
        if date := date_frame(change.form, change.key):
            dates.setdefault(date, []).append(change)
        elif change.form == block.form:
            yield change
        else:
            key = _key_in(block.form, change.form, change.key)
            sides = (change.old, change.new)
            old, new = (_placed_in(block.form, key, change.form, side) for side in sides)
            yield TagChange(block.form, key, old, new)
    for date, group in dates.items():
        is_joined = block.form not in BEFORE_2_4 or (
            date in present and present.isdisjoint(_DATES[date])
        )
        if group[0].form == block.form and is_joined == (block.form not in BEFORE_2_4):
            yield from group
        else:
            keys = (date,) if is_joined else _DATES[date]
            yield from _date_changes(block.form, date, keys, group, unchanged)


def is_as_saved(form: str, key: str, now: Texts, written: Texts) -> bool:
    """Say whether another program that saved this version of ID3v2 left a value as it was.

    It may join several values by a slash, keep the year of a date alone, or drop a frame that its
    version does not have.
    """
    if not now:
        return form in BEFORE_2_4 and key in _OF_2_4_ALONE.values()
    if "/".join(now) == "/".join(written):
        return True
    is_year = len(now[0]) == len("2004") and "".join(written[:1]).startswith(now[0])
    return is_year and date_frame(form, key) is not None


def _key_in(form: str, former: str, key: str) -> str:
    key = long_key(former, key)
    if form in BEFORE_2_4:
        key = _OF_2_4_ALONE.get(key, key)
    return key_of_version(form, key)


def _placed_in(
    form: str, key: str, former: str, placed: Iterable[PlacedItem]
) -> tuple[PlacedItem, ...]:
    """Return records of another version under a key of this one; what has no texts is left out."""
    return tuple(
        PlacedItem(record.at, text_frame(form, key, texts))
        for record in placed
        if (texts := id3_texts(former, record.item)) is not None
    )


def _date_changes(
    form: str, date: str, keys: Texts, group: list[TagChange], unchanged: Mapping[str, Texts]
) -> Iterator[TagChange]:
    """Yield the changes of a date as changes of the frames `keys`, which hold it now."""
    former = group[0].form
    after = {
        key: texts
        for key in (date, *_DATES[date])
        if (texts := unchanged.get(key_of_version(former, key)))
    }
    before = dict(after)
    for change in group:
        parts = (id3_texts(former, placed.item) or () for placed in change.old)
        before[long_key(former, change.key)] = tuple(chain.from_iterable(parts))
    states = [_date_in(keys, date, state) for state in (before, after)]
    at = min((placed.at for change in group for placed in change.old), default=_LAST)
    for key in keys:
        name = key_of_version(form, key)
        old, new = (
            (PlacedItem(at, text_frame(form, name, texts)),) if (texts := state.get(key)) else ()
            for state in states
        )
        yield TagChange(form, name, old, new)


def _date_in(keys: Texts, date: str, frames: Mapping[str, Texts]) -> Mapping[str, Texts]:
    """Return the texts of the frames of a date in other frames that hold it."""
    there = {key: texts for key, texts in frames.items() if texts}
    if there.keys() <= set(keys):
        return there
    if keys == (date,):
        if date in there:
            return {date: there[date]}
        parts = [there.get(key, ("",))[0] for key in _DATES[date]]
        return {date: (_joined(*parts),)} if parts[0] or date == "TDOR" else {}
    return dict(zip(keys, _split(there.get(date, ("",))[0]), strict=False))


def _joined(year: str, day: str = "", time: str = "") -> str:
    """Return a date of ID3v2.4; a year that is none of four digits stays as it is."""
    days, times = _FOUR_DIGITS.fullmatch(day), _FOUR_DIGITS.fullmatch(time)
    if days and _FOUR_DIGITS.fullmatch(year):
        year = f"{year}-{days[2]}-{days[1]}"
    is_day = _WHOLE_DATE.fullmatch(year) and len(year) == len("2004-01-31")
    return f"{year}T{times[1]}:{times[2]}" if times and is_day else year


def _split(date: str) -> Iterator[Texts]:
    """Yield the year, the day and the time of a date as ID3v2.3 has them."""
    whole = _WHOLE_DATE.match(date)
    if whole is None:
        yield (date.zfill(len("2004")) if date.isdecimal() else date,) if date else ()
        return
    yield (whole["year"],)
    yield (whole["day"] + whole["month"],) if whole["day"] and "00" not in whole.groups() else ()
    yield (whole["time"].replace(":", ""),) if whole["time"] else ()
