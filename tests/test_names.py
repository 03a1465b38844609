"""Names in `src` say what they hold."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCES = sorted((Path(__file__).parents[1] / "src").rglob("*.py"))
SAYS_NOTHING = frozenset((
    "one", "found", "each", "known", "said", "kept", "own", "rest", "written", "given", "asked",
    "told", "this", "that", "which", "such", "those", "taken", "seen", "noted", "thing", "things",
    "stuff", "what", "who", "it", "they", "shown", "named", "other", "others", "wanted", "read",
    "more", "left", "meant", "ones",
))  # fmt: skip
MOST = 0.003


def bindings(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module binds: variables, parameters, parts of patterns."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case _:
                pass


def test_bindings_say_what_they_hold() -> None:
    counts = Counter(name for path in SOURCES for name in bindings(ast.parse(path.read_bytes())))
    vague = {name: count for name, count in counts.items() if name in SAYS_NOTHING}
    assert sum(vague.values()) < MOST * counts.total(), vague


def test_a_public_class_has_a_name_of_its_own() -> None:
    modules = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(path.stem)
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}
