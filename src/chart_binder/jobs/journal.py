"""The journal of tag writes: add entries to it, compare files with it, repair it.

A file that was moved after a write is recognized by its audio and the written tags.
"""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.audio import tagset
from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.field_table import FIELDS, long_key, written_keys
from chart_binder.audio.fields import all_fields, copied_items, is_same_key, item_texts, new_block
from chart_binder.audio.locks import LeftoverCopy, is_of_another_host, remove_leftovers
from chart_binder.audio.save import (
    PreparedCopy,
    Restoration,
    SaveResult,
    UnconfirmedError,
    do_nothing,
    restore_file,
    save_tags,
)
from chart_binder.audio.tagset import TagChanges, TagSet, normalized
from chart_binder.domain.records import WriteRecord, WriteState, new_id, now_utc
from chart_binder.errors import AudioError, CanonError, StoreError
from chart_binder.files import decode_json, quoted
from chart_binder.jobs.stored_decisions import LazyRun, path_bytes, path_from_bytes

if TYPE_CHECKING:
    from chart_binder.store import Store


Texts = tuple[str, ...]

_MAX_TEXT = 2_000
_HASH_DIGITS = 8
_SAME_WORDS = "(the same words in other bytes)"
"""Shown after a text that did not change while its bytes did."""
_KILLED = "the run was cut short before the file was replaced"
_MAX_SAVE_TIME = timedelta(hours=1)


class FieldChange(msgspec.Struct, frozen=True):
    """The old and new texts of a field; a field without texts is absent."""

    field: str
    old: Texts
    new: Texts


class ChangedKey(FieldChange, frozen=True, omit_defaults=True):
    """A key that changed after a write; if the write changed it too, `before` has its former texts.

    `old` has the texts after the write, `new` the present ones.
    """

    before: Texts | None = None


def field_changes(old: TagSet, new: TagSet) -> tuple[FieldChange, ...]:
    """Return the fields that differ, in the order of `FIELDS`, then other keys that differ."""
    before, after = all_fields(old), all_fields(new)
    changed = tuple(
        FieldChange(row.name, before.get(row.name, ()), after.get(row.name, ()))
        for row in FIELDS
        if before.get(row.name, ()) != after.get(row.name, ())
    )
    keys = (
        FieldChange(
            change.key, shown_texts(change.form, change.old), shown_texts(change.form, change.new)
        )
        for change in merged_by_key(tagset.changes_between(old, new).changes)
    )
    return changed + tuple(key for key in keys if not _is_covered(key, changed))


def merged_by_key(changes: tuple[tagset.TagChange, ...]) -> tuple[tagset.TagChange, ...]:
    """Return changes with those of one key merged; keys that differ only in case are one key."""
    merged: list[tagset.TagChange] = []
    for change in changes:
        for number, earlier in enumerate(merged):
            if earlier.form == change.form and is_same_key(change.form, earlier.key, change.key):
                key = change.key if change.new else earlier.key
                old, new = earlier.old + change.old, earlier.new + change.new
                merged[number] = tagset.TagChange(change.form, key, old, new)
                break
        else:
            merged.append(change)
    return tuple(merged)


def shown_texts(form: str, placed: Iterable[tagset.PlacedItem]) -> Texts:
    """Return the texts of items; an item that is not text is shown as its length and a hash."""
    items = (position.item for position in placed)
    return tuple(
        text for item in items for text in item_texts(form, item) or (_length_and_hash(item.data),)
    )


def _length_and_hash(data: bytes) -> str:
    return f"({len(data)} bytes, {hashlib.sha256(data).hexdigest()[:_HASH_DIGITS]})"


def _is_covered(key: FieldChange, fields: tuple[FieldChange, ...]) -> bool:
    """Return whether the change of a field already describes the change of its key."""
    return any(
        key.field.casefold() in _WRITTEN_KEYS[field.field]
        # ID3v2.3 stores several values as one text, joined by slashes.
        and "/".join(key.old) == "/".join(field.old)
        and "/".join(key.new) == "/".join(field.new)
        for field in fields
    )


_WRITTEN_KEYS = {row.name: {*map(str.casefold, written_keys(row.name))} for row in FIELDS}


class KeySnapshot(msgspec.Struct, frozen=True, array_like=True):
    """The texts of a key, or a hash of long ones; `mark` is the start of the SHA-256 of its items.

    The head of a tag has a snapshot, too, without a mark.
    """

    form: str
    key: str
    texts: Texts
    mark: str


def changes_since_write(
    write: WriteRecord, changes: TagChanges, present: TagSet, *, in_texts_only: bool = False
) -> tuple[ChangedKey, ...]:
    """Return the keys that differ since a write. Raises `AudioError` for an unreadable snapshot.

    With `in_texts_only`, leave out the heads of tags, and keys that differ only in their bytes.
    """
    # The version of ID3 is left out, because another program may have converted 2.3 to 2.4.
    keys_then, keys_now = (
        {
            (key.form.partition(".")[0], long_key(key.form, key.key)): (key.texts, key.mark)
            for key in snapshots
        }
        for snapshots in (_snapshots_after_write(write), _snapshots(present))
    )
    before = {
        long_key(change.form, change.key).casefold(): shown_texts(change.form, change.old)
        for change in merged_by_key(changes.changes)
    }
    changed = []
    for place in dict.fromkeys((*keys_then, *keys_now)):
        (old, old_mark), (new, new_mark) = (
            keys.get(place, ((), "")) for keys in (keys_then, keys_now)
        )
        is_text = old != new and (old_mark or new_mark)
        if (old, old_mark) != (new, new_mark) and (is_text or not in_texts_only):
            texts = (*new, _SAME_WORDS) if old == new else new
            changed.append(ChangedKey(place[1], old, texts, before.get(place[1].casefold())))
    return tuple(changed)


def texts_after_write(write: WriteRecord, form: str) -> dict[str, Texts]:
    """Return the texts of the keys of one tag after a write. Raises `AudioError`."""
    return {key.key: key.texts for key in _snapshots_after_write(write) if key.form == form}


def _snapshots_after_write(write: WriteRecord) -> tuple[KeySnapshot, ...]:
    try:
        return decode_json(zlib.decompress(write.tags_left), tuple[KeySnapshot, ...])
    except (zlib.error, msgspec.MsgspecError) as error:
        raise AudioError(f"the tags in the journal cannot be read: {error}") from error


def _snapshots(tags: TagSet) -> Iterator[KeySnapshot]:
    for block in normalized(tags).blocks:
        if block.head:
            head = (_length_and_hash(block.head),)
            yield KeySnapshot(block.form, f"head of {block.form}", head, "")
        for key in dict.fromkeys(item.key for item in block.items):
            items = [item for item in block.items if item.key == key]
            texts = shown_texts(block.form, (tagset.PlacedItem(0, item) for item in items))
            if sum(map(len, texts)) > _MAX_TEXT:
                texts = (_length_and_hash("\0".join(texts).encode(errors="surrogateescape")),)
            mark = hashlib.sha256(msgspec.json.encode(items)).hexdigest()[:_HASH_DIGITS]
            yield KeySnapshot(block.form, key or f"odd bytes in {block.form}", texts, mark)


@dataclass(slots=True, kw_only=True)
class WritingRun(LazyRun):
    """A run that writes tags; it is saved with its first write."""

    keep_mtime: bool = False
    copy_links: bool = False

    def save(
        self,
        path: Path,
        change: Callable[[TagSet], TagSet],
        decision_id: str | None,
        check: Callable[[PreparedCopy], None] = do_nothing,
        undoes: str | None = None,
    ) -> tuple[SaveResult, WriteRecord | None]:
        """Change the tags of a file, with an entry in the journal unless nothing changes.

        `check` may raise an error to refuse the prepared copy; `undoes` is the id of the write that
        this one undoes. Raises `AudioError`, `SaveError` and `StoreError`, after recording the
        outcome for the file if it is known.
        """
        save = partial(save_tags, path, change, is_undo=undoes is not None)
        return self._save_recorded(save, decision_id, check, undoes)

    def restore(
        self, path: Path, restoration: Restoration, write: WriteRecord
    ) -> tuple[SaveResult, WriteRecord | None]:
        """Undo a write byte for byte. Raises `ChangedSinceError`, and the errors of `save`."""
        save = partial(restore_file, path, restoration)
        return self._save_recorded(save, write.decision_id, do_nothing, write.id)

    def _save_recorded(
        self,
        save: Callable[..., SaveResult],
        decision_id: str | None,
        check: Callable[[PreparedCopy], None],
        undoes: str | None,
    ) -> tuple[SaveResult, WriteRecord | None]:
        intents: list[WriteRecord] = []

        def intend(prepared: PreparedCopy) -> None:
            check(prepared)
            self.begin()
            intent = self._intent(prepared, decision_id, undoes)
            intents.append(intent)
            self.store.journal.intend(intent)

        try:
            saved = save(
                keep_mtime=self.keep_mtime, copy_links=self.copy_links, before_replace=intend
            )
        except CanonError as error:
            for intent in intents:
                replaced = isinstance(error, UnconfirmedError)
                settle_intent(self.store, intent, str(error), replaced=replaced)
            raise
        if not intents:
            return saved, None
        try:
            self.store.journal.done(intents[0].id, now_utc())
        except StoreError as error:
            problem = "has its new tags; the next run that writes records that"
            raise StoreError(f"{quoted(saved.path)} {problem}, for now {error}") from error
        return saved, intents[0]

    def _intent(
        self, prepared: PreparedCopy, decision_id: str | None, undoes: str | None
    ) -> WriteRecord:
        copied = copied_items(prepared.before)
        changes = msgspec.structs.replace(
            tagset.changes_between(prepared.before, prepared.after),
            new_alike=normalized(prepared.after).hash,
            copied=copied,
            uncopied=() if copied else new_block(prepared.before).items,
        )
        return WriteRecord(
            id=new_id(),
            run_id=self.run.id,
            path=path_bytes(prepared.path),
            decision_id=decision_id,
            audio_hash=prepared.audio_hash,
            tags_before_hash=prepared.before.hash,
            tags_after_hash=prepared.after.hash,
            changes=changes.json,
            tags_left=zlib.compress(msgspec.json.encode(tuple(_snapshots(prepared.after)))),
            restoration=prepared.restoration.document,
            undoes=undoes,
            at_utc=now_utc(),
            temporary=path_bytes(prepared.temporary),
        )


def settle_intent(
    store: "Store", intent: WriteRecord, problem: str, *, replaced: bool | None = None
) -> WriteState | None:
    """Record whether an open intent was carried out; return its new state. Raises `StoreError`.

    `replaced` says whether the copy replaced the file. If it is None, the tags in the file decide;
    if these cannot be read, the intent stays open, and None is returned.
    """
    if replaced is None:
        path = path_from_bytes(intent.path)
        try:
            replaced = read_tag_set(path).hash == intent.tags_after_hash
        except AudioError as error:
            if path.exists() or not path.parent.is_dir():
                return None
            problem += f"; the file is gone: {error}"
    if replaced:
        store.journal.done(intent.id, now_utc())
        return WriteState.DONE
    store.journal.failed(intent.id, now_utc(), problem)
    return WriteState.FAILED


def repair_journal(store: "Store") -> Iterator[str]:
    """Remove left-over copies and settle open intents of killed runs; yield a line for each.

    Copies and intents of a running process are skipped, and of another machine for an hour.
    """
    intents = store.journal.open_intents()
    removed = set()
    for folder in dict.fromkeys(path_from_bytes(intent.path).parent for intent in intents):
        for leftover in remove_leftovers(folder):
            if not leftover.problem:
                removed.add(os.fsencode(leftover.path))
            yield _leftover_text(leftover)
    for intent in intents:
        if os.path.lexists(intent.temporary) or _may_be_writing_elsewhere(intent):
            continue
        # A left-over copy has not replaced the file.
        replaced = False if intent.temporary in removed else None
        path = path_from_bytes(intent.path)
        match settle_intent(store, intent, _KILLED, replaced=replaced):
            case WriteState.DONE:
                outcome = "a run was cut short after it wrote the tags; the journal has them now"
            case WriteState.FAILED:
                outcome = "a run was cut short before it wrote the tags, and did not change them"
            case _:
                outcome = "it is not known yet whether a run that was cut short wrote its tags"
        yield f"{path}: {outcome}"


def _may_be_writing_elsewhere(intent: WriteRecord) -> bool:
    earliest = (datetime.now(UTC) - _MAX_SAVE_TIME).isoformat(timespec="microseconds")
    name = path_from_bytes(intent.temporary).name
    return is_of_another_host(name) and intent.at_utc > earliest


def clean_folder(folder: Path) -> Iterator[str]:
    """Remove the copies that killed saves left in a folder; yield a line for each."""
    return map(_leftover_text, remove_leftovers(folder))


def _leftover_text(leftover: LeftoverCopy) -> str:
    if leftover.problem:
        return f"{leftover.path}: left over by a save, and still there: {leftover.problem}"
    return f"{leftover.path}: left over by a save that was cut short, removed"


def only_done(writes: Iterable[WriteRecord]) -> Iterator[WriteRecord]:
    """Yield the writes that were carried out and not undone."""
    return (write for write in writes if write.state is WriteState.DONE)


def last_done(store: "Store", path: Path) -> WriteRecord | None:
    """Return the last write of a file that was not undone; it may be an undoing itself."""
    return next(only_done(store.journal.of_path(path_bytes(path))), None)


def is_undoing(store: "Store", write: WriteRecord) -> bool:
    """Return whether a write undid another one; to undo an undoing is to write the tags again."""
    if write.undoes is None:
        return False
    undone = store.journal.get(write.undoes)
    return undone is None or not is_undoing(store, undone)


def not_undoing(store: "Store", writes: Iterable[WriteRecord]) -> Iterator[WriteRecord]:
    """Yield the writes that can be undone, without those that undid others."""
    return (write for write in only_done(writes) if not is_undoing(store, write))


def last_write(store: "Store", path: Path) -> WriteRecord | None:
    """Return the last write of a file that can be undone, or None."""
    return next(not_undoing(store, store.journal.of_path(path_bytes(path))), None)


LastWrite = Callable[["Store", Path], WriteRecord | None]


def write_of_file(store: "Store", path: Path, last: LastWrite) -> WriteRecord | None:
    """Return the write that the tags of a file come from, recorded at its path or a former one.

    A write at another path counts if it has this audio and exactly these tags, and the file there
    does not have them; this tells files with swapped names apart. A file without a recorded write
    and without a decision's trace in its tags is not looked up, which saves hashing its audio.
    Raises `StoreError`.
    """
    write_here = last(store, path)
    try:
        tags = read_tag_set(path)
        has_trace = "decision_trace" in all_fields(tags)
        if has_written(tags, write_here) if write_here else not has_trace:
            return write_here
        present_hash = audio_hash(path)
    except AudioError:
        return write_here
    paths = dict.fromkeys(write.path for write in store.journal.of_audio(present_hash))
    former_paths = [path_from_bytes(name) for name in paths if name != path_bytes(path)]
    writes = [(former, write) for former in former_paths if (write := last(store, former))]
    moved = [
        write for former, write in writes if has_written(tags, write) and not _is_at(former, write)
    ]
    if len(moved) == 1 or write_here:
        return moved[0] if len(moved) == 1 else write_here
    gone = [write for former, write in writes if not _has_audio(former, present_hash)]
    return gone[0] if len(gone) == 1 else None


@dataclass
class MovedFiles:
    """Finds the present paths of files by the paths at which their tags were written."""

    store: "Store"
    _present_paths: dict[bytes, Path] = field(default_factory=dict)
    _folders: dict[Path, dict[str, list[Path]]] = field(default_factory=dict)

    def last_write(self, path: Path) -> WriteRecord | None:
        """Return the last write of a file, and note its present path. Raises `StoreError`."""
        write = write_of_file(self.store, path, last_write)
        if write:
            self._present_paths[write.path] = path
        return write

    def path_of(self, write: WriteRecord) -> Path:
        """Return the present path of the file of a write, or its former path if that is unknown.

        The file is looked for by its audio, then in its former folder, then by its evidence.
        """
        former = path_from_bytes(write.path)
        if write.path not in self._present_paths:
            moved = None if _is_at(former, write) else next(self._matches(write, former), None)
            self._present_paths[write.path] = moved or former
        return self._present_paths[write.path]

    def _matches(self, write: WriteRecord, former: Path) -> Iterator[Path]:
        """Yield files with the audio and tags of a write that no write of their own explains."""
        for path in dict.fromkeys(self._candidates(write, former)):
            if path == former or not _is_at(path, write):
                continue
            write_here = last_write(self.store, path)
            has_write = write_here and _is_at(path, write_here)
            if not has_write and _has_audio(path, write.audio_hash):
                yield path

    def _candidates(self, write: WriteRecord, former: Path) -> Iterator[Path]:
        for same_audio in self.store.journal.of_audio(write.audio_hash):
            yield path_from_bytes(same_audio.path)
        if former.exists():
            return
        yield from self._in_folder(former.parent).get(write.tags_after_hash, ())
        decision = self.store.decisions.by_id(write.decision_id) if write.decision_id else None
        if decision and decision.evidence_hash:
            yield from map(path_from_bytes, self.store.decisions.paths_of(decision.evidence_hash))

    def _in_folder(self, folder: Path) -> dict[str, list[Path]]:
        """Return the audio files of a folder by the hash of their tags, which are read once."""
        if folder not in self._folders:
            by_hash = self._folders.setdefault(folder, {})
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                with suppress(AudioError):
                    by_hash.setdefault(read_tag_set(path).hash, []).append(path)
        return self._folders[folder]


def _is_at(path: Path, write: WriteRecord) -> bool:
    """Return whether a file has the written tags."""
    with suppress(AudioError):
        return os.path.lexists(path) and has_written(read_tag_set(path), write)
    return False


def has_written(tags: TagSet, write: WriteRecord) -> bool:
    """Return whether tags are the written ones, disregarding names and the order of comments."""
    if tags.hash == write.tags_after_hash:
        return True
    return normalized(tags).hash == TagChanges.from_json(write.changes).new_alike


def _has_audio(path: Path, hash_wanted: str) -> bool:
    with suppress(AudioError):  # another file, or a damaged one
        return path.is_file() and audio_hash(path) == hash_wanted
    return False


def moved_text(write: WriteRecord, why: str | None) -> str:
    """Return the remark that a file was moved since a write, followed by `why`."""
    moved = f"it was {quoted(path_from_bytes(write.path))} when its tags were written"
    return f"{moved}; {why}" if why else moved
