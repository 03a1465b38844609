"""Prometheus' text format 0.0.4, read strictly: what does not keep to it is a `ValueError`.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-format-details
"""

import re
from dataclasses import dataclass, field

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? (\S+)")
_HELP = re.compile(rf"# HELP ({_NAME}) ((?:[^\\]|\\[\\n])*)")
_TYPE = re.compile(rf"# TYPE ({_NAME}) (counter|gauge)")
_ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


@dataclass
class Family:
    """A metric: its kind, its help, and its samples by their labels."""

    about: str
    kind: str = ""
    samples: dict[tuple[tuple[str, str], ...], float] = field(default_factory=dict)


def read_text(text: str) -> dict[str, Family]:
    """Return the metrics of a text by their names."""
    if text and not text.endswith("\n"):
        raise ValueError("the last line has no end")
    families: dict[str, Family] = {}
    for line in text.split("\n")[:-1]:
        if known := _HELP.fullmatch(line):
            name, about = known.groups()
            if name in families:
                raise ValueError(f"a second HELP: {line}")
            families[name] = Family(_plain(about))
        elif known := _TYPE.fullmatch(line):
            family = families[known[1]]
            if family.kind or family.samples:
                raise ValueError(f"TYPE must come once, before samples: {line}")
            family.kind = known[2]
        elif known := _SAMPLE.fullmatch(line):
            _add(families, known)
        else:
            raise ValueError(f"neither HELP, TYPE nor a sample: {line}")
    return families


def _add(families: dict[str, Family], known: re.Match[str]) -> None:
    name, labels, number = known.groups()
    if name != next(reversed(families)):
        raise ValueError(f"apart from its metric: {known[0]}")
    family = families[name]
    found = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")
    key = tuple((label, _plain(value)) for label, value in found)
    if not family.kind or key in family.samples:
        raise ValueError(f"without TYPE, or there already: {known[0]}")
    if family.kind == "counter" and not name.endswith("_total"):
        raise ValueError(f"a counter is called ..._total: {name}")
    family.samples[key] = float(number)


def _plain(text: str) -> str:
    return re.sub(r'\\[\\"n]', lambda known: _ESCAPED[known[0]], text)
