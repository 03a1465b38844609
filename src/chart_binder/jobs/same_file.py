"""Whether a file still is what it was when it was decided."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.audio.packets import read_tag_set
from chart_binder.audio.reading import read_tags
from chart_binder.audio.tagset import TagSet
from chart_binder.domain.evidence import Artifact
from chart_binder.domain.kept import KeptDecision, WriteState
from chart_binder.domain.track import TrackTags
from chart_binder.errors import DamagedRecordError
from chart_binder.jobs.file_names import kept_path
from chart_binder.typed import decoded

if TYPE_CHECKING:
    from chart_binder.store.store import Store


def why_another(
    store: "Store", path: Path, kept: KeptDecision, tags: TagSet | None = None
) -> str | None:
    """Return why a file may be another than the one that was decided; `tags` are those it has.

    Raises `AudioError`, `OSError` and `StoreError`.
    """
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) == (kept.file_size, kept.file_mtime_ns):
        return None
    if _is_ours(store, path, kept, tags or read_tag_set(path)):
        return None
    now = read_tags(path)
    if now.recording_mbid and now.recording_mbid == kept.recording_mbid:
        return None
    if _identity(now) == _identity_then(_said_then(kept)):
        return None
    return "its tags changed since it was decided, and may mean another recording: decide again"


def _is_ours(store: "Store", path: Path, kept: KeptDecision, tags: TagSet) -> bool:
    """Say whether the tags are those that were last written here, for the file as it was decided.

    Another file may have stood here since, and have been written by a decision of its own.
    """
    writes = store.journal.of_path(kept_path(path))
    done = next((write for write in writes if write.state is WriteState.DONE), None)
    if done is None or done.tags_after_hash != tags.hash or done.decision_id is None:
        return False
    try:
        by = store.decisions.by_id(done.decision_id)
    except DamagedRecordError:  # nothing tells then that it is ours: its tags are looked at
        return False
    return by is not None and _as_decided(by) == _as_decided(kept)


def _said_then(kept: KeptDecision) -> Artifact:
    try:
        return decoded(kept.artifact, Artifact) if kept.artifact else Artifact()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedRecordError(
            f"what the file said when {kept.id} was decided is damaged in the store: {error}"
        ) from error


def _as_decided(kept: KeptDecision) -> tuple[object, ...]:
    return kept.file_size, kept.file_mtime_ns, kept.artifact


def _identity(tags: TrackTags) -> tuple[str | None, ...]:
    return tags.recording_mbid, "; ".join(tags.isrcs) or None, tags.artist, tags.title


def _identity_then(said: Artifact) -> tuple[str | None, ...]:
    tags = said.tags or {}
    return tuple(tags.get(name) for name in ("recording_mbid", "isrc", "artist", "title"))
