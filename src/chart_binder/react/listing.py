"""Tools are listed for a prompt, one line a call with what it is for."""

from collections.abc import Iterator, Sequence

from chart_binder.react.tools import Tool


def listed(tools: Sequence[Tool]) -> str:
    """Return the list of the tools, empty where there are none."""
    return "\n".join(_lines(tools))


def _lines(tools: Sequence[Tool]) -> Iterator[str]:
    if tools:
        yield "You can use these tools:"
        yield ""
    for tool in tools:
        first, *rest = tool.description.strip().splitlines() or [""]
        yield f"- {tool.signature}: {first}"
        yield from (f"  {line.strip()}" for line in rest if line.strip())
        yield from (f"  {name}: {about}" for name, about in tool.about.items())
