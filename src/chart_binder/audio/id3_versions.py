"""Converting recorded changes of an ID3v2 tag to another version of ID3v2.

Programs save a tag of version 2.2 or 2.3 as 2.4, or vice versa. Then frames get other names,
several values become one, and the frames of a date are joined or split.

Formats: see `audio.containers.mp3`; https://id3.org/id3v2.4.0-changes has the changed names
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from chart_binder.audio.containers.mp3 import id3_texts, text_frame
from chart_binder.audio.field_table import BEFORE_2_4, key_of_version, long_key
from chart_binder.audio.tagset import PlacedItem, TagBlock, TagChange

Texts = tuple[str, ...]

# The frame of a date in ID3v2.4, and the frames that hold its parts in earlier versions.
_DATES = {"TDRC": ("TYER", "TDAT", "TIME"), "TDOR": ("TORY",)}
_DATE_OF = {key: date for date, keys in _DATES.items() for key in (date, *keys)}

# Frames that only ID3v2.4 has, and that programs drop when they save another version.
_ONLY_IN_2_4 = {"TDRL": "TXXX:RELEASEDATE", "TSST": "TSST"}

_WHOLE_DATE = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:[T ](?P<time>\d\d:\d\d))?)?)?"
)
_YEAR_OR_DAY = re.compile(r"[0-9]{4}(-[0-9]{2}-[0-9]{2})?")
_FOUR_DIGITS = re.compile(r"(\d\d)(\d\d)")
_END = 1 << 16  # an index after those of all items


def date_frame(form: str, key: str) -> str | None:
    """Return the ID3v2.4 name of a frame that holds a date or a part of one, else `None`."""
    return _DATE_OF.get(long_key(form, key)) if form.startswith("id3v2") else None


def changes_in_block(
    changes: Iterable[TagChange], unchanged: Mapping[str, Texts], block: TagBlock
) -> Iterator[TagChange]:
    """Yield recorded changes of an ID3v2 tag as changes of `block`, the current state of the tag.

    Changes recorded for its version keep their bytes. Others get its frame names and keep their
    texts. `unchanged` has the texts of all keys after the recorded changes, because only one of the
    frames of a date may have changed.
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


def is_as_saved(form: str, key: str, current: Texts, recorded: Texts) -> bool:
    """Tell whether `current` may be `recorded` after another program saved this ID3v2 version.

    The program may join several values with a slash, keep only the year of a date, or drop a frame
    that its version does not have.
    """
    if not current:
        return form in BEFORE_2_4 and key in _ONLY_IN_2_4.values()
    if "/".join(current) == "/".join(recorded):
        return True
    is_year = len(current[0]) == len("2004") and "".join(recorded[:1]).startswith(current[0])
    return is_year and date_frame(form, key) is not None


def _key_in(form: str, old_form: str, key: str) -> str:
    key = long_key(old_form, key)
    if form in BEFORE_2_4:
        key = _ONLY_IN_2_4.get(key, key)
    return key_of_version(form, key)


def _placed_in(
    form: str, key: str, old_form: str, items: Iterable[PlacedItem]
) -> tuple[PlacedItem, ...]:
    """Return the text frames of one version as frames of another; others are dropped."""
    return tuple(
        PlacedItem(placed.at, text_frame(form, key, texts))
        for placed in items
        if (texts := id3_texts(old_form, placed.item)) is not None
    )


def _date_changes(
    form: str, date: str, keys: Texts, group: list[TagChange], unchanged: Mapping[str, Texts]
) -> Iterator[TagChange]:
    """Yield the changes of a date as changes of the frames `keys`, which now hold it."""
    old_form = group[0].form
    after = {
        key: texts
        for key in (date, *_DATES[date])
        if (texts := unchanged.get(key_of_version(old_form, key)))
    }
    before = dict(after)
    for change in group:
        parts = (id3_texts(old_form, placed.item) or () for placed in change.old)
        before[long_key(old_form, change.key)] = tuple(chain.from_iterable(parts))
    states = [_date_in(keys, date, state) for state in (before, after)]
    at = min((placed.at for change in group for placed in change.old), default=_END)
    for key in keys:
        name = key_of_version(form, key)
        old, new = (
            (PlacedItem(at, text_frame(form, name, texts)),) if (texts := state.get(key)) else ()
            for state in states
        )
        yield TagChange(form, name, old, new)


def _date_in(keys: Texts, date: str, frames: Mapping[str, Texts]) -> Mapping[str, Texts]:
    """Return the texts of the frames of a date, converted to the frames `keys`."""
    present = {key: texts for key, texts in frames.items() if texts}
    if present.keys() <= set(keys):
        return present
    if keys == (date,):
        if date in present:
            return {date: present[date]}
        parts = [present.get(key, ("",))[0] for key in _DATES[date]]
        return {date: (_joined(*parts),)} if parts[0] or date == "TDOR" else {}
    return dict(zip(keys, _split(present.get(date, ("",))[0]), strict=False))


def _joined(year: str, day: str = "", time: str = "") -> str:
    """Return a date as in ID3v2.4; a year without four digits is returned unchanged.

    If the frame of the year has a whole date, the frame of the day counts, as in mutagen.
    """
    days, times = _FOUR_DIGITS.fullmatch(day), _FOUR_DIGITS.fullmatch(time)
    if days and _YEAR_OR_DAY.fullmatch(year):
        year = f"{year[:4]}-{days[2]}-{days[1]}"
    is_day = _WHOLE_DATE.fullmatch(year) and len(year) == len("2004-01-31")
    return f"{year}T{times[1]}:{times[2]}" if times and is_day else year


def _split(date: str) -> Iterator[Texts]:
    """Yield year, day and time of a date as in ID3v2.3."""
    match = _WHOLE_DATE.match(date)
    if match is None:
        yield (date.zfill(len("2004")) if date.isdecimal() else date,) if date else ()
        return
    yield (match["year"],)
    yield (match["day"] + match["month"],) if match["day"] and "00" not in match.groups() else ()
    yield (match["time"].replace(":", ""),) if match["time"] else ()
