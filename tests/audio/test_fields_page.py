"""The page on tags names the keys that are written."""

from pathlib import Path

from chart_binder.audio.fields import FIELDS, FREE, Family, TagField

PAGE = Path(__file__).parents[2] / "docs" / "tags.md"
FAMILIES: tuple[Family, ...] = ("id3", "vorbis", "mp4", "ape", "asf")


def row(field: TagField) -> str:
    cells = [
        ", ".join(f"`{key.removeprefix(FREE)}`" for key in field.keys[family].written) or "-"
        for family in FAMILIES
    ]
    return f"| {' | '.join((f'`{field.name}`', *cells))} |"


def test_the_table_of_keys_is_the_one_that_is_written_by() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    start = lines.index("| field | ID3 | Vorbis comment | MP4 | APE | ASF |") + 2
    assert lines[start : start + len(FIELDS)] == [row(field) for field in FIELDS]
    assert lines[start + len(FIELDS)] == ""
