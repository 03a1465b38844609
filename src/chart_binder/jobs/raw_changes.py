"""Keys that no longer say what was written, in the words of the tag itself."""

from chart_binder.audio.changes import Placed, TagChanges
from chart_binder.audio.tagset import Block, TagSet
from chart_binder.jobs.tag_changes import FieldChange, placed_texts


def raw_changes(written: TagChanges, now: TagSet) -> tuple[FieldChange, ...]:
    """Return each key that was written and says something else now; none: others changed."""
    found = []
    for change in written.changes:
        block = now.block(change.form) or Block(change.form)
        items = tuple(item for item in block.items if _same(item.key, change.key))
        if items != tuple(placed.item for placed in change.new):
            here = tuple(Placed(0, item) for item in items)
            old, new = placed_texts(change.form, change.new), placed_texts(change.form, here)
            found.append(FieldChange(change.key, old, new))
    return tuple(found)


def _same(one: str, other: str) -> bool:
    """Compare keys as most forms do: programs write them in whatever case."""
    return one.casefold() == other.casefold()
