"""Parsing costs time linear in the length of a reply, for the worst replies known.

Run it as a script: for every shape it prints milliseconds of processor time at 100 kB, at 1 MB, and
the ratio of the two, which is 10 for linear time. It fails where a ratio is above 20, or 100 kB
take longer than 15 plain passes over as many characters in Python.
"""

import sys
import time
from collections.abc import Callable

from chart_binder.react.dialects.classic import Classic

SMALL, LARGE = 100_000, 1_000_000
MOST_RATIO = 20.0
MOST_PASSES = 15.0


def repeated(piece: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """Return a maker of replies of a given length out of one piece."""
    return lambda size: before + piece * ((size - len(before) - len(after)) // len(piece)) + after


def around(opening: str, closing: str) -> Callable[[int], str]:
    """Return a maker of replies that are half openings, half closings."""
    return lambda size: (
        opening * (size // 2 // len(opening)) + closing * (size // 2 // len(closing))
    )


INPUT = "Action: f\nAction Input: "
CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
SHAPES: dict[str, Callable[[int], str]] = {
    "prose": repeated("The single came out before the album, so they say. "),
    "one letter": repeated("a"),
    "spaces": repeated(" "),
    "new lines": repeated("\n"),
    "short lines": repeated("a\n"),
    "quotation marks": repeated('"'),
    "lines of marks": repeated('"\n'),
    "lines of three marks": repeated('"""\n', "Action: none\n"),
    "inch marks": repeated('12" '),
    "lines of inch marks": repeated('a 12" b\n', 'say "\n'),
    "typographic marks": repeated("“"),
    "typographic pairs": repeated("“a”"),
    "typographic lines": repeated("“\n"),
    "apostrophes": repeated("'"),
    "backslashes": repeated("\\"),
    "back-quotes": repeated("`"),
    "fences": repeated("```\n"),
    "fences on a line": repeated("```x"),
    "fences with words": repeated("``` a\n"),
    "tildes": repeated("~~~ a\n"),
    "tildes before back-quotes": repeated("~~~ ", "", "```"),
    "back-quotes before words": repeated("`", "", "x`"),
    "action labels": repeated("Action:\n"),
    "actions of none": repeated("Action: None\n"),
    "actions of none, inputs": repeated("Action: None\nAction Input: {\n"),
    "answers without words": repeated("Final Answer:\n"),
    "input labels": repeated("Action Input:\n"),
    "thought labels": repeated("Thought: a\n"),
    "numbered decoration": repeated("1. **"),
    "decorated lines": repeated("- ** ## 1. __`\n"),
    "label words": repeated("Action Input "),
    "labels in a line": repeated("Action: a "),
    "colons": repeated(":"),
    "braces": repeated("{"),
    "lines of braces": repeated("{\n"),
    "lines of open objects": repeated('{"a": "\n'),
    "lines of open keys": repeated('{"a":\n'),
    "brackets": repeated("["),
    "open brackets of a call": repeated("(", "Action: f"),
    "names with brackets": repeated("a(", "Action: "),
    "names announced": repeated("Tool: ", "Action: "),
    "a long name": repeated("a", "Action: "),
    "a name of many words": repeated("a b-c ", "Action: "),
    "input: braces": repeated("{", INPUT),
    "input: keys": repeated('{"a":', INPUT),
    "input: pairs": repeated('"a":1,', INPUT + "{", "}"),
    "input: pairs, single quotes": repeated("'a':1,", INPUT + "{", "}"),
    "input: list": repeated("1,", INPUT + '{"a": [', "1]}"),
    "input: lenient list": repeated("1,", INPUT + "{'a': [", "1]}"),
    "input: deep list": around(INPUT + "{'a': " + "[" * 40, "]"),
    "input: comments": repeated("/**/", INPUT + "{"),
    "input: open comments": repeated("/*", INPUT + "{"),
    "input: line comments": repeated("//\n", INPUT + "{'a': 1, "),
    "input: inner quotes": repeated('a"b ', INPUT + '{"q": "'),
    "input: spaced quotes": repeated('"   ', INPUT + '{"q": "'),
    "input: commas": repeated(",", INPUT + "{'a': 1"),
    "input: spaced commas": repeated('", x ', INPUT + '{"q": "'),
    "input: escapes": repeated("\\n", INPUT + "{'q': '"),
    "input: surrogates": repeated("\\ud83d", INPUT + '{"q": "', '"}'),
    "input: digits": repeated("9", INPUT + '{"a": ', "}"),
    "input: fraction": repeated("9", INPUT + '{"a": 0.', "}"),
    "input: exponent": repeated("9", INPUT + '{"a": 1e', "}"),
    "input: bare words": repeated("word ", INPUT),
    "input: bare braces": repeated("{ ", INPUT + "x: "),
    "input: fences": repeated("```\n", INPUT),
    "input: blank lines": repeated(" \n", INPUT),
    "input: quoted": repeated('a"', INPUT + '"'),
    "answer: braces": repeated("{", "Final Answer: "),
    "answer: open objects": repeated('{"a": "b ', "Final Answer: "),
    "answer: a long object": repeated('"a": [1, "b"], ', 'Final Answer: {"c": 1, ', '"d": 1}'),
    "answer: tags": repeated("</a", "Final Answer: "),
    "opening tags": repeated("<think>"),
    "closing tags": repeated("</think>"),
    "pairs of tags": repeated("<think>a</think>"),
    "nested tags": around("<think>", "</think>"),
    "tags in strings": repeated('{"a": "<think>"}'),
    "tags in open strings": repeated("{'<think>\", "),
    "tags on lines": repeated("a <think>\n"),
    "half tags": repeated("<think "),
    "angle brackets": repeated("<"),
    "spaced angle brackets": repeated("< / "),
    "control tokens": repeated("<|im_start|>"),
    "half control tokens": repeated("<|"),
    "tags: calls": repeated(f"{CALL}\n"),
    "tags: calls on a line": repeated(CALL),
    "tags: open calls": repeated("<tool_call>\n"),
    "tags: open calls of objects": repeated('<tool_call>{"name": "f", '),
    "tags: calls of words": repeated("<tool_call>f(a)\n"),
    "tags: functions": repeated("<function=f>\n"),
    "tags: functions on a line": repeated("<function=f>", "<tool_call>"),
    "tags: open parameters": repeated("<parameter=a>b\n", "<tool_call><function=f>"),
    "tags: parameters": repeated("<parameter=a>b</parameter>", "<tool_call><function=f>"),
    "tags: elements": repeated("<a><b>", "<tool_call>", "</tool_call>"),
    "tags: escaped objects": repeated("{&quot;a&quot;: ", "<tool_call>"),
    "tags: answers without words": repeated("<response></response>\n"),
    "tags: open answers": repeated("<response>\n"),
    "tags: answers on a line": repeated("a <response> "),
    "tags: answers in answers": repeated("<response>"),
    "tags: closings": repeated("</tool_call>"),
    "tags: closed answers": repeated("</response>\n", "<response>{"),
    "tags: thoughts": repeated("<thought>a</thought>\n"),
    "tags: open thoughts": repeated("<thought>a\n"),
    "tags: closed thoughts": repeated("</thought>\n"),
    "tags: nested thoughts": around("<thought>", "</thought>"),
    "tags: observations in lines": repeated("a <observation> b\n"),
    "tags: half of them": repeated("<tool_call "),
    "tags: with attributes": repeated('<tool_call id="1" name="f">\n'),
    "tags: with long attributes": repeated("<tool_call " + "a" * 190),
    "tags: in strings": repeated('{"a": "<response>"}'),
    "tags: in fences": repeated("```\n<tool_call>\n```\n"),
    "tags: fenced objects": repeated("<tool_call>```json\n{}\n```</tool_call>\n"),
    "tags: entities": repeated("&amp;", "<function=f><parameter=a>", "</parameter>"),
    "pauses": repeated("PAUSE\n"),
    "pauses on a line": repeated("PAUSE ", "Action: f: "),
    "calls": repeated("f('a'\n"),
    "open calls": repeated('f("a\n'),
    "whole calls": repeated('f("a") b\n'),
    "Chinese labels": repeated("行动：\n"),
    "emoji": repeated("🔍"),
    "control characters": repeated("\x00\x1b"),
    "half surrogates": repeated("\ud83d"),
    "carriage returns": repeated("\r"),
}


def milliseconds(parse: Callable[[str], object], text: str) -> float:
    """Return the shortest of three measurements of processor time."""
    taken = []
    for _ in range(3):
        started = time.process_time()
        parse(text)
        taken.append(time.process_time() - started)
    return min(taken) * 1000


def one_pass(text: str) -> int:
    """Look at every character once, as the plainest loop does."""
    count = 0
    for character in text:
        if character == "\n":
            count += 1
    return count


def main() -> int:
    """Measure every shape; return how many are too slow."""
    parse = Classic().parse
    unit = milliseconds(one_pass, "a" * SMALL)
    bad = 0
    print(f"{'one pass over the characters':32} {unit:8.2f} ms")
    rows = []
    for name, shape in SHAPES.items():
        small, large = (milliseconds(parse, shape(size)) for size in (SMALL, LARGE))
        ratio = large / max(small, 0.05)
        is_bad = ratio > MOST_RATIO or small > MOST_PASSES * unit
        bad += is_bad
        rows.append((small, f"{name:32} {small:8.2f} ms {large:9.2f} ms {ratio:6.1f}x", is_bad))
    for _, row, is_bad in sorted(rows, reverse=True):
        print(row, "TOO SLOW" if is_bad else "")
    return bad


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
