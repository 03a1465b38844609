"""docs/development.md describes the code as it is: its picture, its walk, its places."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "chart_binder"
PAGE = (ROOT / "docs" / "development.md").read_text("utf-8")


def section(heading: str) -> str:
    """Return the text below a heading of the page, up to the next heading of its level."""
    match = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert match, f"docs/development.md has no section {heading!r}"
    return match[1]


def picture() -> list[set[str]]:
    """Return the packages and root modules of each line of the picture, the topmost first."""
    block = re.search(r"^```text\n(.*?)^```", section("Packages"), re.MULTILINE | re.DOTALL)
    assert block
    names = (re.findall(r"\b(\w+)(?:/|\.py)(?=\s|$)", line) for line in block[1].splitlines())
    return [set(row) for row in names if row]


def test_the_picture_has_every_package_and_module() -> None:
    there = {
        path.stem
        for path in PACKAGE.iterdir()
        if (path.is_dir() and any(path.rglob("*.py"))) or path.suffix == ".py"
    }
    assert set().union(*picture()) == there - {"__init__", "__main__"} | {"canon"}


def test_the_picture_is_what_lint_imports_checks() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = document["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = [{name.rpartition(".")[2] for name in layer.split(" | ")} for layer in layers]
    assert rows == picture()


def test_the_functions_of_the_walk_exist() -> None:
    rows = re.findall(r"^\| `([\w.]+)`", section("From file to tags"), re.MULTILINE)
    assert len(rows) >= 4
    for row in rows:
        parts = row.split(".")
        place = next(n for n in range(len(parts), 0, -1) if is_module(parts[:n]))
        value: object = import_module(f"chart_binder.{'.'.join(parts[:place])}")
        for name in parts[place:]:
            value = getattr(value, name)
        assert parts[place:], f"{row} names a module only"


def is_module(parts: list[str]) -> bool:
    """Tell whether the parts of a dotted name lead to a module or package."""
    path = PACKAGE.joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_the_places_for_new_things_exist() -> None:
    places = re.findall(
        r"`((?:src/chart_binder/|tests/|docs/|config)[\w./]*)`", section("Where new things go")
    )
    assert len(places) >= 6
    missing = [place for place in places if not (ROOT / place).exists()]
    assert not missing


def test_the_page_names_no_file_that_is_gone() -> None:
    named = set(re.findall(r"`((?:src|tests)/[\w./]+\.\w+)`", PAGE))
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_classes_of_the_glossary_exist() -> None:
    classes = {
        name
        for file in PACKAGE.rglob("*.py")
        for name in re.findall(r"^class (\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    named = set(re.findall(r"`([A-Z]\w+)`", section("Glossary")))
    assert named
    assert not named - classes
