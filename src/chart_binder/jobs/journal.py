"""The journal of tag writes: writing with an entry in it, what changed since, repair.

A file that was moved since is known by its audio and the tags that were written.
"""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.audio import tagset
from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.field_table import FIELDS, long_key, written_keys
from chart_binder.audio.fields import (
    all_fields,
    copied_items,
    is_same_key,
    item_texts,
    new_block,
)
from chart_binder.audio.file_access import LeftoverCopy, is_of_another_host, remove_leftovers
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
from chart_binder.domain.tags import Fields
from chart_binder.errors import AudioError, CanonError, StoreError
from chart_binder.files import decode_json, quoted
from chart_binder.jobs.stored_decisions import LazyRun, path_bytes, path_from_bytes

if TYPE_CHECKING:
    from chart_binder.store import Store


Texts = tuple[str, ...]

_MAX_TEXT = 2_000
_HASH_DIGITS = 8
HEAD_OF = "head of "
"""Before the name of a tag in a difference: the vendor of Vorbis comments, the version of ID3."""
SAME_WORDS = "(the same words, written otherwise)"
"""Stands behind texts that are equal, of which the bytes are not."""
_KILLED = "the run was cut short before the file was replaced"
_MAX_SAVE_TIME = timedelta(hours=1)


class FieldChange(msgspec.Struct, frozen=True):
    """The old and new texts of a field; a field without texts is absent."""

    field: str
    old: Texts
    new: Texts


class ChangedKey(FieldChange, frozen=True, omit_defaults=True):
    """A key that changed since a write; `before` is what it said before, if that wrote it."""

    before: Texts | None = None


def field_changes(
    old: TagSet, new: TagSet, fields: tuple[Fields, Fields] | None = None
) -> tuple[FieldChange, ...]:
    """Return the fields that differ, in the order of the table, then other keys that differ.

    `fields` are those of both, where they are known.
    """
    before, after = (all_fields(old), all_fields(new)) if fields is None else fields
    every = (
        FieldChange(each.name, before.get(each.name, ()), after.get(each.name, ()))
        for each in FIELDS
    )
    changed = tuple(each for each in every if each.old != each.new)
    keys = (
        FieldChange(each.key, shown_texts(each.form, each.old), shown_texts(each.form, each.new))
        for each in merged_by_key(tagset.changes_between(old, new).changes)
    )
    return changed + tuple(key for key in keys if not _is_covered(key, changed))


def merged_by_key(changes: tuple[tagset.TagChange, ...]) -> tuple[tagset.TagChange, ...]:
    """Return changes with those of equal keys merged, whatever their case."""
    found: list[tagset.TagChange] = []
    for change in changes:
        for at, one in enumerate(found):
            if one.form == change.form and is_same_key(one.form, one.key, change.key):
                key = change.key if change.new else one.key
                found[at] = tagset.TagChange(
                    one.form, key, one.old + change.old, one.new + change.new
                )
                break
        else:
            found.append(change)
    return tuple(found)


def shown_texts(form: str, placed: Iterable[tagset.PlacedItem]) -> Texts:
    """Return the texts of items; for one that is no text its length and a hash."""
    return tuple(
        text
        for each in placed
        for text in item_texts(form, each.item) or (_length_and_hash(each.item.data),)
    )


def _length_and_hash(data: bytes) -> str:
    return f"({len(data)} bytes, {hashlib.sha256(data).hexdigest()[:_HASH_DIGITS]})"


def _is_covered(key: FieldChange, fields: tuple[FieldChange, ...]) -> bool:
    """Return whether the change of a field already says what happens to a key of it."""
    return any(
        key.field.casefold() in _WRITTEN_KEYS[field.field]
        # ID3v2.3 has several values as one, joined by slashes.
        and "/".join(key.old) == "/".join(field.old)
        and "/".join(key.new) == "/".join(field.new)
        for field in fields
    )


_WRITTEN_KEYS = {each.name: {*map(str.casefold, written_keys(each.name))} for each in FIELDS}


class KeySnapshot(msgspec.Struct, frozen=True, array_like=True):
    """The texts of one key, long ones as a hash, and the beginning of its items' SHA-256."""

    form: str
    key: str
    texts: Texts
    mark: str


def changes_since_write(
    write: WriteRecord, changes: TagChanges, now: TagSet
) -> tuple[ChangedKey, ...]:
    """Return the keys that differ since a write. Raises `AudioError` for an unreadable snapshot."""
    # The version of ID3 does not count: another program may have made 2.4 of 2.3.
    then, here = (
        {
            (key.form.partition(".")[0], long_key(key.form, key.key)): (key.texts, key.mark)
            for key in keys
        }
        for keys in (_keys_left(write), _snapshots(now))
    )
    written = {
        long_key(each.form, each.key).casefold(): shown_texts(each.form, each.old)
        for each in merged_by_key(changes.changes)
    }
    found = []
    for name in dict.fromkeys((*then, *here)):
        old, new = (each.get(name, ((), "")) for each in (then, here))
        if old != new:
            texts = (*new[0], SAME_WORDS) if old[0] == new[0] else new[0]
            found.append(ChangedKey(name[1], old[0], texts, written.get(name[1].casefold())))
    return tuple(found)


def texts_after_write(write: WriteRecord, form: str) -> dict[str, Texts]:
    """Return what the keys of one tag said after a write. Raises `AudioError`."""
    return {key.key: key.texts for key in _keys_left(write) if key.form == form}


def _keys_left(write: WriteRecord) -> tuple[KeySnapshot, ...]:
    try:
        return decode_json(zlib.decompress(write.tags_left), tuple[KeySnapshot, ...])
    except (zlib.error, msgspec.MsgspecError) as error:
        raise AudioError(f"the journal does not say what the tags were: {error}") from error


def _snapshots(tags: TagSet) -> Iterator[KeySnapshot]:
    for block in normalized(tags).blocks:
        if block.head:
            head = (_length_and_hash(block.head),)
            yield KeySnapshot(block.form, f"{HEAD_OF}{block.form}", head, "")
        for key in dict.fromkeys(item.key for item in block.items):
            items = [item for item in block.items if item.key == key]
            texts = shown_texts(block.form, (tagset.PlacedItem(0, item) for item in items))
            if sum(map(len, texts)) > _MAX_TEXT:
                texts = (_length_and_hash("\0".join(texts).encode(errors="surrogateescape")),)
            mark = hashlib.sha256(msgspec.json.encode(items)).hexdigest()[:_HASH_DIGITS]
            yield KeySnapshot(block.form, key or f"odd bytes in {block.form}", texts, mark)


@dataclass(slots=True, kw_only=True)
class WritingRun(LazyRun):
    """A run that writes tags; the run itself is saved with its first write."""

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

        `check` may raise to refuse the prepared copy; `undoes` is the write that is taken back.
        Raises `AudioError`, `SaveError` and `StoreError`; if the outcome for the file is known by
        then, the journal has it.
        """
        save = partial(save_tags, path, change, is_undo=undoes is not None)
        return self._recorded(save, decision_id, check, undoes)

    def restore(
        self, path: Path, restoration: Restoration, write: WriteRecord
    ) -> tuple[SaveResult, WriteRecord | None]:
        """Take back a write byte for byte; raise `ChangedSinceError`, else as `save` does."""
        save = partial(restore_file, path, restoration)
        return self._recorded(save, write.decision_id, do_nothing, write.id)

    def _recorded(
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
        done = next(iter(intents), None)
        try:
            if done:
                self.store.journal.done(done.id, now_utc())
        except StoreError as error:
            problem = "has its new tags; the next run that writes records that"
            raise StoreError(f"{quoted(saved.path)} {problem}, for now {error}") from error
        return saved, done

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
    """Save in the journal whether an open intent was done, and return that. Raises `StoreError`.

    Where it is unknown whether the copy `replaced` the file, its tags say so; if they cannot be
    read, the intent stays open and `None` is returned.
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
    """Remove left-over copies and settle open intents of killed runs; yield what was done.

    Skips those of a living process, and of another machine those begun within the hour.
    """
    intents = store.journal.open_intents()
    removed = set()
    for folder in dict.fromkeys(path_from_bytes(intent.path).parent for intent in intents):
        for found in remove_leftovers(folder):
            if not found.problem:
                removed.add(os.fsencode(found.path))
            yield _leftover_text(found)
    for intent in intents:
        if os.path.lexists(intent.temporary) or _may_be_writing_elsewhere(intent):
            continue
        # A copy that was left over did not replace the file.
        replaced = False if intent.temporary in removed else None
        path = path_from_bytes(intent.path)
        match settle_intent(store, intent, _KILLED, replaced=replaced):
            case WriteState.DONE:
                said = "a run was cut short after it wrote the tags; the journal has them now"
            case WriteState.FAILED:
                said = "a run was cut short before it wrote the tags, and did not change them"
            case _:
                said = "it is not known yet whether a run that was cut short wrote its tags"
        yield f"{path}: {said}"


def _may_be_writing_elsewhere(intent: WriteRecord) -> bool:
    earliest = (datetime.now(UTC) - _MAX_SAVE_TIME).isoformat(timespec="microseconds")
    name = path_from_bytes(intent.temporary).name
    return is_of_another_host(name) and intent.at_utc > earliest


def clean_folder(folder: Path) -> Iterator[str]:
    """Remove the copies that killed saves left in a folder; yield what was done."""
    return map(_leftover_text, remove_leftovers(folder))


def _leftover_text(found: LeftoverCopy) -> str:
    if found.problem:
        return f"{found.path}: left over by a save, and still there: {found.problem}"
    return f"{found.path}: left over by a save that was cut short, removed"


def only_done(writes: Iterable[WriteRecord]) -> Iterator[WriteRecord]:
    """Yield the writes that are done and not undone."""
    return (write for write in writes if write.state is WriteState.DONE)


def last_done(store: "Store", path: Path) -> WriteRecord | None:
    """Return the last write of a file that is done and not undone, one that undid another, too."""
    return next(only_done(store.journal.of_path(path_bytes(path))), None)


def is_undoing(store: "Store", write: WriteRecord) -> bool:
    """Return whether a write undid another; one that undid an undoing wrote the tags again."""
    if write.undoes is None:
        return False
    undone = store.journal.get(write.undoes)
    return undone is None or not is_undoing(store, undone)


def not_undoing(store: "Store", writes: Iterable[WriteRecord]) -> Iterator[WriteRecord]:
    """Yield the writes that can be undone; those that undid others do not count."""
    return (write for write in only_done(writes) if not is_undoing(store, write))


def last_write(store: "Store", path: Path) -> WriteRecord | None:
    """Return the last write of a file that can be undone; one that undid another does not count."""
    return next(not_undoing(store, store.journal.of_path(path_bytes(path))), None)


LastWrite = Callable[["Store", Path], WriteRecord | None]


def write_of_file(store: "Store", path: Path, last: LastWrite) -> WriteRecord | None:
    """Return the write that a file's tags are of, under its path or a former one.

    Under another path it needs this audio and exactly these tags, which the file there has not, so
    that swapped names are not mixed up. Files without a write of their own and without a decision's
    trace are not looked up, which saves hashing their audio. Raises `StoreError`.
    """
    own = last(store, path)
    try:
        tags = read_tag_set(path)
        is_known = has_written(tags, own) if own else "decision_trace" not in all_fields(tags)
        if is_known:
            return own
        sound = audio_hash(path)
    except AudioError:
        return own
    paths = dict.fromkeys(write.path for write in store.journal.of_audio(sound))
    former = [path_from_bytes(name) for name in paths if name != path_bytes(path)]
    writes = [(each, write) for each in former if (write := last(store, each))]
    same = [write for each, write in writes if has_written(tags, write) and not _is_at(each, write)]
    if len(same) == 1 or own:
        return same[0] if len(same) == 1 else own
    gone = [write for each, write in writes if not _has_audio(each, sound)]
    return gone[0] if len(gone) == 1 else None


@dataclass
class MovedFiles:
    """Finds where files are now, by the paths under which their tags were written."""

    store: "Store"
    _found: dict[bytes, Path] = field(default_factory=dict)
    _folders: dict[Path, dict[str, list[Path]]] = field(default_factory=dict)

    def last_write(self, path: Path) -> WriteRecord | None:
        """Return the last write of a file, whose path is remembered. Raises `StoreError`."""
        write = write_of_file(self.store, path, last_write)
        if write:
            self._found[write.path] = path
        return write

    def path_of(self, write: WriteRecord) -> Path:
        """Return where the file of a write is now, its former path if that is unknown.

        It is looked for by its audio, then in the same folder and by the same evidence.
        """
        former = path_from_bytes(write.path)
        if write.path not in self._found:
            is_there = _is_at(former, write)
            now = None if is_there else next(self._candidates(write, former), None)
            self._found[write.path] = now or former
        return self._found[write.path]

    def _candidates(self, write: WriteRecord, former: Path) -> Iterator[Path]:
        """Yield the files that have the audio and the tags of a write, and none of their own."""
        for path in dict.fromkeys(self._known_paths(write, former)):
            if path == former or not _is_at(path, write):
                continue
            own = last_write(self.store, path)
            if not (own and _is_at(path, own)) and _has_audio(path, write.audio_hash):
                yield path

    def _known_paths(self, write: WriteRecord, former: Path) -> Iterator[Path]:
        for one in self.store.journal.of_audio(write.audio_hash):
            yield path_from_bytes(one.path)
        if former.exists():
            return
        yield from self._in_folder(former.parent).get(write.tags_after_hash, ())
        decision = self.store.decisions.by_id(write.decision_id) if write.decision_id else None
        if decision and decision.evidence_hash:
            yield from map(path_from_bytes, self.store.decisions.paths_of(decision.evidence_hash))

    def _in_folder(self, folder: Path) -> dict[str, list[Path]]:
        """Return the audio files of a folder by the hash of their tags, read once."""
        if folder not in self._folders:
            found = self._folders.setdefault(folder, {})
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                try:
                    found.setdefault(read_tag_set(path).hash, []).append(path)
                except AudioError:
                    continue
        return self._folders[folder]


def _is_at(path: Path, write: WriteRecord) -> bool:
    """Return whether a file has the tags that were written."""
    try:
        return os.path.lexists(path) and has_written(read_tag_set(path), write)
    except AudioError:
        return False


def has_written(tags: TagSet, write: WriteRecord) -> bool:
    """Return whether tags are those that were written, but for names and order of comments."""
    if tags.hash == write.tags_after_hash:
        return True
    return normalized(tags).hash == TagChanges.from_json(write.changes).new_alike


def _has_audio(path: Path, sound: str) -> bool:
    try:
        return path.is_file() and audio_hash(path) == sound
    except AudioError:  # another file, or a damaged one
        return False


def moved_text(write: WriteRecord, why: str | None) -> str:
    """Return the remark that a file was moved since a write, with what else is to say."""
    moved = f"it was {quoted(path_from_bytes(write.path))} when its tags were written"
    return f"{moved}; {why}" if why else moved
