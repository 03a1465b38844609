"""What differs between two tag sets, by fields and by the keys of the tag that no field tells."""

import hashlib

import msgspec

from chart_binder.audio.changes import Change, Placed, changes_between
from chart_binder.audio.tag_fields import FIELDS
from chart_binder.audio.tag_writing import field_texts
from chart_binder.audio.tagset import TagSet
from chart_binder.audio.texts import is_same_key, item_texts

Texts = tuple[str, ...]


class FieldChange(msgspec.Struct, frozen=True):
    """What a field says, and would say or did say; no texts: it is not there."""

    field: str
    old: Texts
    new: Texts


def texts_now(tags: TagSet) -> dict[str, Texts]:
    """Return what every field says."""
    said = ((field.name, field_texts(tags, field.name)) for field in FIELDS)
    return {name: texts for name, texts in said if texts}


def changes_of(old: TagSet, new: TagSet) -> tuple[FieldChange, ...]:
    """Return which fields differ, in the order of the table, then which keys differ besides."""
    was, will = texts_now(old), texts_now(new)
    fields = tuple(
        FieldChange(field.name, was.get(field.name, ()), will.get(field.name, ()))
        for field in FIELDS
        if was.get(field.name) != will.get(field.name)
    )
    keys = map(_key_change, _by_name(changes_between(old, new).changes))
    return fields + tuple(key for key in keys if not _is_told(key, fields))


def _by_name(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Return the changes with those of one key together, in whatever case it was and will be."""
    found: list[Change] = []
    for change in changes:
        at = next((at for at, one in enumerate(found) if _is_of_one_key(one, change)), None)
        if at is None:
            found.append(change)
        else:
            both = found[at]
            key = change.key if change.new else both.key
            found[at] = Change(both.form, key, both.old + change.old, both.new + change.new)
    return tuple(found)


def _is_of_one_key(one: Change, other: Change) -> bool:
    return one.form == other.form and is_same_key(one.form, one.key, other.key)


def _key_change(change: Change) -> FieldChange:
    return FieldChange(
        change.key, placed_texts(change.form, change.old), placed_texts(change.form, change.new)
    )


def placed_texts(form: str, placed: tuple[Placed, ...]) -> Texts:
    """Return what records say; of what is no text its length, with the begin of its SHA-256."""
    return tuple(
        text
        for each in placed
        for text in item_texts(form, each.item)
        or (f"({len(each.item.data)} bytes, {hashlib.sha256(each.item.data).hexdigest()[:8]})",)
    )


def _is_told(key: FieldChange, fields: tuple[FieldChange, ...]) -> bool:
    """Say whether a field's change says what happens to the key that it is written under."""
    return any(
        key.field.casefold() in _WRITTEN[field.field]
        and _joined(key.old) == _joined(field.old)
        and _joined(key.new) == _joined(field.new)
        for field in fields
    )


def _joined(texts: Texts) -> str:
    """Return several values as one, as ID3v2.3 has them."""
    return "/".join(texts)


# ID3v2.2 shortens its keys, ID3v2.3 has dates in frames of its own: those are told beside.
_WRITTEN = {
    field.name: {key.casefold() for keys in field.keys.values() for key in keys.written}
    | {
        key.casefold().replace("txxx:", "txx:").replace("ufid:", "ufi:")
        for key in field.keys["id3"].written
    }
    for field in FIELDS
}
