"""What a site asks of programs, as RFC 9309 has it: groups of rules, the longest that fits wins.

`Crawl-delay` is no part of that standard, but of many sites' rules: seconds between two requests.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

_MOST_RULES = 5_000
_LONGEST_DELAY_S = 60.0
_DELAY = "crawl-delay"
_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_LINE = re.compile(
    r"^[ \t\ufeff]*(user-agent|allow|disallow|crawl-delay)[ \t]*:[ \t]*([^#\r\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_PRODUCT = re.compile(r"[A-Za-z_-]+|\*")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for one program: patterns of paths, each allowed or not.

    `delay_s` is how long it should leave the site alone between two requests, at most a minute.
    """

    rules: tuple[tuple[str, bool], ...] = ()
    delay_s: float = 0.0

    @classmethod
    def of(cls, text: str, agent: str) -> "Rules":
        """Read a robots.txt for the program that calls itself `agent`, such as `canon/1.0`."""
        name = _product(agent)
        groups: dict[str, list[tuple[str, str]]] = {}
        for called, key, value in _lines(text):
            groups.setdefault(called, []).append((key, value))
        own = groups[name] if name in groups else groups.get("*", [])
        delays = (_delay(value) for key, value in own if key == _DELAY)
        rules = (
            (quote(value, safe=_ASCII), key == "allow" or not value)
            for key, value in own
            if key != _DELAY
        )
        return cls(tuple(rules), max(delays, default=0.0))

    def allow(self, path: str) -> bool:
        """Tell whether a path, with its query as it is sent, may be asked for."""
        fitting = [(len(rule), allowed) for rule, allowed in self.rules if fits(rule, path)]
        return max(fitting, default=(0, True))[1] or path == "/robots.txt"


NOTHING_FORBIDDEN = Rules()


def fits(pattern: str, path: str) -> bool:
    """Tell whether a path begins as a pattern says: `*` is anything, a last `$` is the end."""
    ends = pattern.endswith("$")
    first, *rest = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for part in rest[:-1] if ends else rest:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    if not ends:
        return True
    return path.endswith(rest[-1], at) if rest else at == len(path)


def _lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield agent, key and value of every rule; a group may be for several agents."""
    agents: list[str] = []
    takes_agents = True
    for count, line in enumerate(_LINE.finditer(text)):
        key, value = line[1].lower(), line[2].strip()
        if count >= _MOST_RULES:
            return
        if key == "user-agent":
            agents = [*agents, _product(value)] if takes_agents else [_product(value)]
            takes_agents = True
            continue
        takes_agents = False
        for agent in agents:
            yield agent, key, value


def _delay(value: str) -> float:
    """Return the seconds a site asks for; what is no such number asks for none."""
    return min(float(value), _LONGEST_DELAY_S) if _SECONDS.fullmatch(value) else 0.0


def _product(agent: str) -> str:
    found = _PRODUCT.match(agent.strip())
    return found[0].lower() if found else ""
