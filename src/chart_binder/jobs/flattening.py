"""Nested plain values as one table of paths, so that two of them can be laid side by side."""

from collections.abc import Iterable, Iterator, Mapping

_IDS = ("mb_recording_id", "mb_rg_id", "mb_release_id")


def flat(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield each scalar of a nested value with its path, such as `llm.fetch.ports[0]`.

    What has a MusicBrainz id stands under it in place of its number in a list: two bundles that
    list the same candidates in another order are alike. What is null or empty is left out.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from flat(inner, f"{path}[{_named(inner, number)}]")
    elif value is not None and value != "":
        yield path, value


def _named(value: object, number: int) -> str:
    if not isinstance(value, Mapping):
        return str(number)
    ids: Iterable[object] = (value.get(key) for key in _IDS)
    return str(next(filter(None, ids), number))
