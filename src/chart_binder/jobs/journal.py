"""A file that was moved or renamed since its tags were written is known again by its audio."""

import hashlib
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.fields import FIELDS, field_texts, is_same_key, item_texts
from chart_binder.audio.file_access import Leftover, is_of_another_host, remove_leftovers
from chart_binder.audio.save import (
    PreparedCopy,
    SaveResult,
    UnconfirmedError,
    do_nothing,
    save_tags,
)
from chart_binder.audio.tagset import (
    Block,
    Change,
    PlacedItem,
    TagChanges,
    TagSet,
    changes_between,
    normalized,
    normalized_hash,
)
from chart_binder.domain.records import KeptRun, KeptWrite, WriteState, new_id, now_utc
from chart_binder.errors import AudioError, CanonError, StoreError
from chart_binder.files import quoted
from chart_binder.jobs.stored_decisions import path_bytes, path_from_bytes
from chart_binder.typed_json import decode_json

if TYPE_CHECKING:
    from chart_binder.store.store import Store


Texts = tuple[str, ...]


class FieldChange(msgspec.Struct, frozen=True):
    """What a field says, and would say or did say; no texts: it is not there."""

    field: str
    old: Texts
    new: Texts


def field_values(tags: TagSet) -> dict[str, Texts]:
    """Return what every field says."""
    said = ((field.name, field_texts(tags, field.name)) for field in FIELDS)
    return {name: texts for name, texts in said if texts}


def field_changes(old: TagSet, new: TagSet) -> tuple[FieldChange, ...]:
    """Return which fields differ, in the order of the table, then which keys differ besides."""
    was, will = field_values(old), field_values(new)
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


def placed_texts(form: str, placed: tuple[PlacedItem, ...]) -> Texts:
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


def raw_changes(written: TagChanges, now: TagSet) -> tuple[FieldChange, ...]:
    """Return each key that was written and says something else now; none: others changed."""
    found = []
    for change in written.changes:
        block = now.block(change.form) or Block(change.form)
        items = tuple(item for item in block.items if _same(item.key, change.key))
        if items != tuple(placed.item for placed in change.new):
            here = tuple(PlacedItem(0, item) for item in items)
            old, new = placed_texts(change.form, change.new), placed_texts(change.form, here)
            found.append(FieldChange(change.key, old, new))
    return tuple(found)


def _same(one: str, other: str) -> bool:
    """Compare keys as most forms do: programs write them in whatever case."""
    return one.casefold() == other.casefold()


_MOST_TEXT = 2_000
_DIGITS = 8
_SAME_WORDS = "(the same words, written otherwise)"


class KeySnapshot(msgspec.Struct, frozen=True, array_like=True):
    """What one key says, with the begin of the SHA-256 of its records."""

    form: str
    key: str
    texts: Texts
    mark: str


def written_snapshot(tags: TagSet) -> bytes:
    """Return what every key says, as it is kept with a write; long values by their hash."""
    return zlib.compress(msgspec.json.encode(tuple(_keys(tags))))


def changes_since_write(
    write: KeptWrite, changes: TagChanges, now: TagSet
) -> tuple[FieldChange, ...]:
    """Return every key that says something else than when the write was done.

    Of a write from before that was kept, only keys that it changed itself can be told, maybe none.
    Raises `AudioError` for a journal that cannot be read.
    """
    if not write.tags_left:
        return raw_changes(changes, now)
    then = {(one.form, one.key): one for one in _read(write.tags_left)}
    here = {(one.form, one.key): one for one in _keys(now)}
    pairs = ((then.get(name), here.get(name)) for name in dict.fromkeys((*then, *here)))
    return tuple(_change(old, new) for old, new in pairs if old != new)


def _keys(tags: TagSet) -> Iterator[KeySnapshot]:
    for block in normalized(tags).blocks:
        if block.head:
            yield KeySnapshot(block.form, f"head of {block.form}", (_short(block.head),), "")
        for key in dict.fromkeys(item.key for item in block.items):
            yield _key(block, key)


def _key(block: Block, key: str) -> KeySnapshot:
    items = [item for item in block.items if item.key == key]
    texts = placed_texts(block.form, tuple(PlacedItem(0, item) for item in items))
    if sum(map(len, texts)) > _MOST_TEXT:
        texts = (_short("\0".join(texts).encode(errors="surrogateescape")),)
    mark = hashlib.sha256(msgspec.json.encode(items)).hexdigest()[:_DIGITS]
    return KeySnapshot(block.form, key or f"odd bytes in {block.form}", texts, mark)


def _short(data: bytes) -> str:
    return f"({len(data)} bytes, {hashlib.sha256(data).hexdigest()[:_DIGITS]})"


def _change(old: KeySnapshot | None, new: KeySnapshot | None) -> FieldChange:
    was, says = old.texts if old else (), new.texts if new else ()
    if was == says:
        says = (*says, _SAME_WORDS)
    found = old or new
    return FieldChange(found.key if found else "", was, says)


def _read(kept: bytes) -> tuple[KeySnapshot, ...]:
    try:
        return decode_json(zlib.decompress(kept), tuple[KeySnapshot, ...])
    except (zlib.error, msgspec.MsgspecError) as error:
        raise AudioError(f"the journal does not say what the tags were: {error}") from error


@dataclass(slots=True)
class WritingRun:
    """A run that changes tags; it is kept when its first file is."""

    store: "Store"
    run: KeptRun
    keep_mtime: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    has_begun: bool = False

    @classmethod
    def of(
        cls, store: "Store", command: str, arguments: tuple[str, ...], *, keep_mtime: bool
    ) -> "WritingRun":
        """Return a run that begins now."""
        run = KeptRun(id=new_id(), command=command, arguments=arguments, started_at_utc=now_utc())
        return cls(store, run, keep_mtime)

    def save(
        self,
        path: Path,
        change: Callable[[TagSet], TagSet],
        decision_id: str | None,
        check: Callable[[PreparedCopy], None] = do_nothing,
    ) -> tuple[SaveResult, KeptWrite | None]:
        """Change the tags of a file, with an entry in the journal unless nothing changes.

        `check` may refuse what is about to happen. Raises `AudioError`, `SaveError`, `StoreError`;
        where the file's fate is known then, the journal has it.
        """
        intents: list[KeptWrite] = []

        def intend(prepared: PreparedCopy) -> None:
            check(prepared)
            if not self.has_begun:
                self.store.runs.begin(self.run)
                self.has_begun = True
            intent = self._intent(prepared, decision_id)
            intents.append(intent)
            self.store.journal.intend(intent)

        try:
            saved = save_tags(path, change, keep_mtime=self.keep_mtime, before_replace=intend)
        except CanonError as error:
            replaced = isinstance(error, UnconfirmedError)
            for intent in intents:
                settle_intent(self.store, intent, str(error), replaced=replaced)
            raise
        for intent in intents:
            self._told(saved.path, intent)
        return saved, next(iter(intents), None)

    def _told(self, path: Path, intent: KeptWrite) -> None:
        try:
            self.store.journal.done(intent.id, now_utc())
        except StoreError as error:
            raise StoreError(
                f"{quoted(path)} has its new tags, which the next run that writes tells the"
                f" journal, for now {error}"
            ) from error

    def end(self, status: int) -> None:
        """Keep how the run ended, if it changed anything. Raises `StoreError`."""
        if self.has_begun:
            self.store.runs.end(self.run.id, now_utc(), status, self.counts)

    def _intent(self, prepared: PreparedCopy, decision_id: str | None) -> KeptWrite:
        return KeptWrite(
            id=new_id(),
            run_id=self.run.id,
            path=path_bytes(prepared.path),
            decision_id=decision_id,
            audio_hash=prepared.audio_hash,
            tags_before_hash=prepared.before.hash,
            tags_after_hash=prepared.after.hash,
            changes=_changes(prepared).json,
            tags_left=written_snapshot(prepared.after),
            at_utc=now_utc(),
            temporary=path_bytes(prepared.temporary),
        )


def _changes(prepared: PreparedCopy) -> TagChanges:
    return msgspec.structs.replace(
        changes_between(prepared.before, prepared.after),
        old_alike=normalized_hash(prepared.before),
        new_alike=normalized_hash(prepared.after),
    )


def settle_intent(
    store: "Store", intent: KeptWrite, problem: str, *, replaced: bool | None = None
) -> WriteState | None:
    """Hold an intent against its file, and say in the journal what became of it.

    `problem` is why, where the file was left as it was. `replaced` says whether the copy took the
    file's place, where that is known: another run may have written the same tags. `None` is
    returned where the file cannot be looked at, so the intent stays open. Raises `StoreError`.
    """
    if replaced:
        store.journal.done(intent.id, now_utc())
        return WriteState.DONE
    path = path_from_bytes(intent.path)
    try:
        found = read_tag_set(path).hash
    except AudioError as error:
        if path.parent.is_dir() and not path.exists():
            store.journal.failed(intent.id, now_utc(), f"{problem}; the file is gone: {error}")
            return WriteState.FAILED
        if replaced is None:
            return None
        found = intent.tags_before_hash
    if found == intent.tags_after_hash and replaced is None:
        store.journal.done(intent.id, now_utc())
        return WriteState.DONE
    if found == intent.tags_after_hash:
        problem += "; the file has the tags that were meant: another run wrote them"
    elif found != intent.tags_before_hash:
        problem += "; the file has other tags than before or after: another program wrote them"
    store.journal.failed(intent.id, now_utc(), problem)
    return WriteState.FAILED


_LONGEST_SAVE = timedelta(hours=1)
_KILLED = "the run was cut short before the file was replaced"


def repair_journal(store: "Store") -> Iterator[str]:
    """Settle every intent that is open, after its left-over copy is removed; say so in sentences.

    What a living process is about to write is passed over; on another machine, where that cannot be
    told, what was begun within the hour. Raises `StoreError`.
    """
    intents = store.journal.open_intents()
    removed = set()
    for folder in dict.fromkeys(path_from_bytes(intent.path).parent for intent in intents):
        for found in remove_leftovers(folder):
            if not found.kept:
                removed.add(os.fsencode(found.path))
            yield _said(found)
    for intent in intents:
        if not os.path.lexists(intent.temporary) and not _may_go_on_elsewhere(intent):
            # A copy that was left over did not take the file's place.
            replaced = False if intent.temporary in removed else None
            yield from _settled(store, intent, replaced=replaced)


def _may_go_on_elsewhere(intent: KeptWrite) -> bool:
    """Say whether another machine may be at it, with files of its own or a slow disk between."""
    an_hour_ago = (datetime.now(UTC) - _LONGEST_SAVE).isoformat(timespec="microseconds")
    return (
        is_of_another_host(path_from_bytes(intent.temporary).name) and intent.at_utc > an_hour_ago
    )


def clean_folders(folders: Iterable[Path]) -> Iterator[str]:
    """Remove the copies that killed saves left in folders, and say so in sentences."""
    for folder in folders:
        for found in remove_leftovers(folder):
            yield _said(found)


def _said(found: Leftover) -> str:
    if found.kept:
        return f"{found.path}: left over by a save, and still there: {found.kept}"
    return f"{found.path}: left over by a save that was cut short, removed"


def _settled(store: "Store", intent: KeptWrite, *, replaced: bool | None) -> Iterator[str]:
    path = path_from_bytes(intent.path)
    match settle_intent(store, intent, _KILLED, replaced=replaced):
        case WriteState.DONE:
            yield f"{path}: a run was cut short after it wrote the tags; the journal has them now"
        case WriteState.FAILED:
            yield f"{path}: a run was cut short before it wrote the tags, and did not change them"
        case None:
            yield f"{path}: whether a run that was cut short wrote its tags cannot be told yet"


def moved_write(
    store: "Store", path: Path, last: Callable[["Store", Path], KeptWrite | None]
) -> KeptWrite | None:
    """Return the newest write of the same audio by another name that is gone, as `last` finds it.

    Where the other name still has that audio, the file is a copy of it, and nothing was written
    into it. A file without the trace of a decision is not looked for: its audio need not be read.
    Nor is one that cannot be read, or is of no kind that is written. Raises `StoreError`.
    """
    try:
        if not field_texts(read_tag_set(path), "decision_trace"):
            return None
        sound = audio_hash(path)
    except AudioError:
        return None
    own = path_bytes(path)
    names = dict.fromkeys(write.path for write in store.journal.of_audio(sound))
    for name in names:
        if (
            name != own
            and not _has(path_from_bytes(name), sound)
            and (found := last(store, path_from_bytes(name)))
        ):
            return found
    return None


def _has(path: Path, sound: str) -> bool:
    try:
        return path.is_file() and audio_hash(path) == sound
    except AudioError:  # another file, or a damaged one
        return False
