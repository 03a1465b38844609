"""Observations that a model makes up, and lines of others, however they are written."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from chart_binder.react.parsing.labels import label_at
from chart_binder.react.parsing.lexer import see, without_markup

_MAX_LINES: Final = 256
_MAX_NEARBY: Final = 400
# The word for an observation, misspelt or spaced, behind the words of a tool.
_OBS: Final = (
    r"(?:(?!(?:an?|the|i|we|my)\b)[a-z_]+[ _-]){0,3}"
    r"o ?b ?(?!serve[ds]?\b(?!:)|scure|servi?e?[rn]g?s?\b)(?:s ?e? ?r|ser-|s\b|ers|sar|s\.|erv)"
    r"[a-z]{0,10}+(?: [a-z]{1,2}\b){0,10}+"
)
_SIGNS: Final = r"[^\w\n>\"<&]"  # bounded and possessive: a long rule is looked at once
_LINE: Final = (
    rf"\n{_SIGNS}{{0,24}}+(?:(?:\w\)|\w\.|\d\d?|step \d+:?)[ ]{_SIGNS}{{0,12}}+)?(?:<[|/]{{1,2}})?"
)
_ANY_LINE: Final = _LINE.replace('\\"', "")
_OBSERVED: Final = re.compile(
    rf"{_LINE}(?:{_OBS}(?: ?#?\d{{1,3}})?(?:\W{{0,6}}(?:[:：>|=–]|\n)| [–-]| from\b| c[\die])"
    r"|(?:(?!(?:an?|the|i|we|my|no)\b)[a-z_]+[ _-]){1,3}(?:results?|outputs?|returned|returns)"
    r"(?:\W{0,6}(?:[:>`|]|\n)|[ ](?:from|of|for)\b[^\n{]{0,24}:)"
    r"|(?:results?|outputs?) from\b[^\n{]{0,24}:"
    r"|[^\n\w]{0,4}(?:观察(?:到|结果)?|觀察|観察結果?|搜索结果|返回结果|검색결과|결과)[^\w\n]{0,3}[:：】]"
    r"|<(?:obs(?:\b|erv)\w*|\w+[_-](?:results?|outputs?|response))\b(?!_)|&lt;/?obs)"
)
_RESULT: Final = re.compile(rf"{_LINE}(?:{_OBS}[ ]|results?\b|outputs?\b|search results?\b|结果)")
# What no answer may rest on: a result by whatever name, a line of somebody else.
_FOREIGN: Final = re.compile(
    rf"{_ANY_LINE}(?:{_OBS}(?![ ]?(?:of|shows?|that)\b)"
    r"|(?:[a-z_]+[ _-]){0,3}(?:results?|outputs?|returned|returns|responses? from)\b"
    r"[^\n{]{0,24}(?:[:>`|]|\n)"
    r"|tool_(?:output|result|response)|output\n"
    r"|(?:user|human|system|tool|ipython|environment|instruction)(?:\n|:|>)"
    r"|paus(?:e\b[^\n]+\w|\n)"
    r"|[^\n]{0,8}(?:结果|結果|返回|观察|觀察|観察|결과)[^\n]{0,6}[:：])"
    r"|<\W{0,3}(?:obs\w*|[\w-]*results?|[\w-]*outputs?|information|context|documents?|ipython"
    r"|[\w-]*response_from\w*)[>\s/]|&lt;/?obs|</obs"
)
_QUOTED_CALL: Final = (re.compile(r"\n>\W{0,4}action\b"), re.compile(r"\n>\W{0,4}obs"))
_RESULTS: Final = re.compile(r"result|output|return|[观觀観结結결]|검색")
_CONFUSABLE: Final = (
    *zip("0135аеорсхіѕᎾꮎοΟОА", "oiesaeopcxisoooooa", strict=True),
    *((chr(code), chr(code - 0xFEE0)) for code in range(0xFF41, 0xFF5B)),
)


def fold(text: str) -> str:
    """Return a text without case or letters that look like others, each in its place."""
    small = text.lower()
    small = small if len(small) == len(text) else "".join(char.lower()[0] for char in text)
    for letter, plain in _CONFUSABLE:  # far faster than `translate` where most are absent
        small = small.replace(letter, plain)
    return small


def find_observations(folded: str) -> Iterator[int]:
    """Yield where lines of a folded text begin that observe, however they are written."""
    if "ob" in folded or "o b" in folded or _RESULTS.search(folded):
        for line in islice(_OBSERVED.finditer(f"\n{folded}\n"), _MAX_LINES):
            yield line.start()


def begins_observation(line: str, *, after_action: bool = False) -> bool:
    """Tell whether a line begins an observation, however it is decorated, disguised or misspelt.

    What follows an action may be called a result as well, and needs no colon.
    """
    said = without_markup(see(line.lstrip()[:_MAX_NEARBY]))
    folded = f"\n{fold(said)}\n"
    label = label_at(said)
    is_labelled = label is not None and label.kind == "observation"
    return bool(is_labelled or _OBSERVED.match(folded) or (after_action and _RESULT.match(folded)))


def holds_foreign(words: str) -> bool:
    """Tell whether words before an answer hold a result or a line of somebody else."""
    folded = f"\n{fold(words)}\n"
    is_quoted_call = all(mark.search(folded) for mark in _QUOTED_CALL)
    return is_quoted_call or _FOREIGN.search(folded) is not None
