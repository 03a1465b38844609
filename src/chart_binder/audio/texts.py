"""Texts in the records of a tag, read and written in whatever form the tag has."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from chart_binder.audio.forms import apev2, asf, id3_text, ilst, vorbis
from chart_binder.audio.tagset import Block, Item

Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """How a form of tag holds texts; `exact` says that its keys differ by case."""

    read: Callable[[Item], Texts | None]
    write: Callable[[str, Texts], tuple[Item, ...]]
    exact: bool = False


def _id3(form: str) -> Form:
    def write(key: str, texts: Texts) -> tuple[Item, ...]:
        return (id3_text.text_frame(form, key, texts),)

    return Form(partial(id3_text.texts_of, form), write)


_FORMS: dict[str, Form] = {
    **{form: _id3(form) for form in ("id3v2.2", "id3v2.3", "id3v2.4")},
    "apev2": Form(apev2.texts_of, lambda key, texts: (apev2.text_item(key, texts),)),
    "vorbis": Form(vorbis.texts_of, vorbis.text_items),
    "mp4": Form(ilst.texts_of, lambda key, texts: (ilst.text_item(key, texts),), exact=True),
    "asf": Form(asf.texts_of, asf.text_items),
}


def item_texts(form: str, item: Item) -> Texts | None:
    """Return the texts of a record, or nothing if it holds something else, such as a picture."""
    known = _FORMS.get(form)
    return known.read(item) if known else None


def texts_at(block: Block, key: str) -> Texts:
    """Return all texts under a key, in the order of the file."""
    same = _same_key(block.form, key)
    read = (item_texts(block.form, item) for item in block.items if same(item.key))
    return tuple(text for texts in read for text in texts or ())


def has_key(block: Block, key: str) -> bool:
    """Say whether there is a record of this key."""
    return any(map(_same_key(block.form, key), (item.key for item in block.items)))


def is_same_key(form: str, one: str, other: str) -> bool:
    """Say whether two names are of one key: most forms do not tell them apart by case."""
    known = _FORMS.get(form)
    return one == other or bool(known and not known.exact and one.casefold() == other.casefold())


def with_texts(block: Block, key: str, texts: Iterable[str]) -> Block:
    """Return the block with these texts under a key; without any, the key is gone.

    What says the same already stays as it is, byte for byte. Otherwise the new record takes the
    place of the first of that key, else it comes last.
    """
    wanted = tuple(texts)
    form = _FORMS[block.form]
    same = _same_key(block.form, key)
    old = [at for at, item in enumerate(block.items) if same(item.key)]
    if texts_at(block, key) == _as_read(block.form, key, wanted) and bool(old) == bool(wanted):
        return block
    new = form.write(key, wanted) if wanted else ()
    at = old[0] if old else sum(bool(item.key) for item in block.items)
    kept = [item for item in block.items if not same(item.key)]
    items = (*kept[:at], *new, *kept[at:])
    return Block(block.form, asf.in_places(items) if block.form == "asf" else items, block.head)


def _as_read(form: str, key: str, texts: Texts) -> Texts:
    if not texts:
        return ()
    read = (item_texts(form, item) or () for item in _FORMS[form].write(key, texts))
    return tuple(text for part in read for text in part)


def _same_key(form: str, key: str) -> Callable[[str], bool]:
    if _FORMS[form].exact:
        return lambda other: other == key
    folded = key.casefold()
    return lambda other: other.casefold() == folded
