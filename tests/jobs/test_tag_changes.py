"""A difference tells every key that is changed, once."""

from chart_binder.audio.containers.id3 import text_frame
from chart_binder.audio.containers.vorbis import text_items
from chart_binder.audio.fields import with_fields
from chart_binder.audio.tagset import Block, TagSet
from chart_binder.jobs.journal import FieldChange, field_changes


def test_a_frame_that_is_taken_out_is_told() -> None:
    frames = {"TYER": "1975", "TDAT": "2111", "TIME": "1200"}
    items = tuple(text_frame("id3v2.3", key, (text,)) for key, text in frames.items())
    old = TagSet("mp3", (Block("id3v2.3", items, b"\3\0"),))
    new = with_fields(old, {"date": ("1975-11-21",)})
    assert new != old
    assert field_changes(old, new) == (FieldChange("TIME", ("1200",), ()),)


def test_a_field_under_a_name_of_another_case_is_told_once() -> None:
    old = TagSet("flac", (Block("vorbis", text_items("album", ("Aenima",)), b""),))
    new = with_fields(old, {"album": ("Lateralus",)})
    assert field_changes(old, new) == (FieldChange("album", ("Aenima",), ("Lateralus",)),)
