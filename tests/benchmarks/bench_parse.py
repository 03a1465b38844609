"""Parsing costs time linear in the length of a reply, for the worst replies known.

    python tests/benchmarks/bench_parse.py

In every installed dialect each shape is read at 100 kB; the ten that take longest are measured from
30 kB to 1 MB, and the slope of a straight line through the logarithms of length and processor time
is printed: 1 is linear, 2 quadratic. It fails where a slope is above 1.2, or 100 kB take longer
than 20 ms on a machine that passes once over as many characters in Python within 2 ms (in general:
longer than ten such passes).
"""

import math
import random
import sys
import time
from collections.abc import Callable

from chart_binder import plugins

SMALL = 100_000
SIZES = (30_000, 100_000, 300_000, 1_000_000)
WORST = 10
MOST_SLOPE = 1.2
MOST_PASSES = 10.0
FASTEST_PASS_MS = 2.0


def repeated(piece: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """Return a maker of replies of a given length out of one piece."""
    return lambda size: before + piece * ((size - len(before) - len(after)) // len(piece)) + after


def around(opening: str, closing: str) -> Callable[[int], str]:
    """Return a maker of replies that are half openings, half closings."""
    return lambda size: (
        opening * (size // 2 // len(opening)) + closing * (size // 2 // len(closing))
    )


def mixed(*pieces: str) -> Callable[[int], str]:
    """Return a maker of replies of these pieces in an order without order, the same each time."""
    return lambda size: "".join(random.Random(7).choices(pieces, k=size))[:size]


INPUT = "Action: f\nAction Input: "
CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
ANSWER = 'Final Answer: {"crg_mbid": "C1"}'
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
    "numbered label words": repeated("Action 1 "),
    "labels in JSON format": repeated("Action Input in JSON format\n"),
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
    "input: sums": repeated('"a" + ', INPUT),
    "input: full-width braces": repeated("｛", INPUT),
    "input: full-width keys": repeated('｛"a"：', INPUT),
    "input: members": repeated("- a: b\n", INPUT),
    "input: members below": repeated("- a: b\n", "Action: f\n"),
    "input: a list": repeated('"a", ', INPUT + "["),
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
    "tags: with attributes that give": repeated('<tool_call name="f" a="1" b="2"/>\n'),
    "tags: with an attribute of many": lambda size: f'<tool_call name="f" {"a=1 " * (size // 4)}/>',
    "tags: lists of calls": repeated('<tool_calls>[{"name": "f", '),
    "tags: turns in answers": repeated("<response>Thought: a\n"),
    "tags: a turn in an answer": repeated("Thought: a\n", "<response>"),
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
    "colons in a call": repeated("f: ", "Action: "),
    "calls of none, pauses": repeated("Action: None: x\nPAUSE\n"),
    "tags: empty calls": repeated("<tool_call></tool_call>\n"),
    "tags: nested calls": around("<tool_call>", "</tool_call>"),
    "tags: whole functions": repeated("<function=f><parameter=a>1</parameter></function>\n"),
    "tags: a list of calls": repeated('{"name": "f", "arguments": {}},', "<tool_calls>[", "]"),
    "tags: in quotation marks": repeated('"<tool_call>" '),
    "tags: in strings on lines": repeated('{"a": "<tool_call>"}\n'),
    "tags: half of them on lines": repeated("<tool \n"),
    "tags: others": repeated("<a>"),
    "tags: others in a thought": repeated("<a>", "<thought>", f"</thought>\n{INPUT}1"),
    "tags: lists in a thought": repeated("'a',", "<thought>", f"</thought>\n{INPUT}1"),
    "thinking in strings": repeated('"<think>"\n'),
    "half thinking on lines": repeated("<think \n"),
    "ends of turns": repeated("</s>"),
    "ends of turns in strings": repeated('{"a": "<|im_end|>"}\n'),
    "half words": repeated("pau\n"),
    "words of labels": repeated("tool a b\n"),
    "labels of nothing": repeated("ab (c) :\n"),
    "markup that quotes": repeated("<pre>\n"),
    "markup that may quote": repeated("<html>\n"),
    "brackets on lines": repeated("(\n"),
    "fences of a language": repeated("```json\n"),
    "fenced objects": repeated("```json\n{}\n```\n"),
    "fenced objects behind a thought": repeated('```json\n{"a": 1}\n```\n', "Thought: x\n"),
    "calls without labels": repeated('f("x") ->\n', "", '\nFinal Answer: {"a": 1}'),
    "results": repeated("Result: x\n", "", '\nFinal Answer: {"a": 1}'),
    "pages between rules": repeated("== begin page\n", "", '\nFinal Answer: {"a": 1}'),
    "a fenced list": repeated("a = b\n", "```\n", f"\n```\n{INPUT}1"),
    "words in single marks": repeated("'x' "),
    "apostrophes in words": repeated("x'y"),
    "letters in disguise": repeated("Obѕervation: x\n"),
    "letters of formulas": repeated("𝐎bservation\n"),
    "letters unseen": repeated("\u200bObservation: x\n"),
    "wide letters": repeated("ａ"),
    "Chinese": repeated("字"),
    "Cyrillic": repeated("е"),
    "tokens: calls": repeated(
        "<|tool_call_begin|>f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    ),
    "tokens: calls among words": repeated("It is <｜tool▁call▁begin｜>f<｜tool▁sep｜>{} "),
    "tokens: channels": repeated("<|channel|>a<|channel|>analysis<|message|>"),
    "tokens: results": repeated("[TOOL_RESULTS]a[TOOL_CALLS]f"),
    "input: members without quotes": repeated("a=1,", INPUT + '{"q": '),
    **{
        f"a run of {name}": repeated(sign, "Thought: The result is\n", f"\nob {ANSWER}")
        for name, sign in {
            "dashes": "-",
            "equals signs": "= ",
            "dots": ".",
            "stars": "*",
            "spaces": " ",
            "tabs": "\t",
            "quotation marks": '" ',
            "quotations": "“x\n",
            "brackets": "([{",
            "angles": "< ",
            "tildes": "~",
            "fences": "```\n",
            "slashes": "/*",
            "colons": ":\n",
            "results": "search result ",
            "observations": "ob s ",
            "tables": "| a |---|\n",
        }.items()
    },
    "answers passed on": repeated("The page says:\nFinal Answer: {}\n"),
    "tags that announce nothing": repeated("<page>x\n", "", f"\n{ANSWER}"),
    "thinking without tokens": repeated("assistantfinal analysisWe "),
    "thinking in words": repeated("Here is my thought process:\nx\nHere is my response:\n"),
    "words for thinking": repeated("Here is my assistant analysis"),
    "channels of thought": repeated("<|channel>thought\n<channel|>x"),
    "calls without tokens": repeated("assistantcommentary to=f json"),
    "channels and addresses": repeated("<|channel|> to=a "),
    "mixed marks": mixed('"', "'", "“", "”", "`", "a", " ", "\n", "\\", "[", "(", ":", ","),
    "mixed labels": mixed("Action: f\n", "Thought: a\n", "PAUSE\n", "obs ", "> ", "```\n", "“x\n"),
    "mixed tags": mixed("<think>", "</think>", "<tool_call>", "</thought>", '"a"', "{", "}\n", "`"),
    "mixed markup": mixed("[quote]", '"""', "</thought>", "\u200b", "``", "`", "<!--", "(\n"),
    "mixed objects": mixed(
        '{"a": 1}\n', "{'b': ", '"c": "', "[1, ", "],\n", "}", "\\u0041", "// x\n"
    ),
}


def milliseconds(parse: Callable[[str], object], text: str, times: int = 3) -> float:
    """Return the shortest of some measurements of processor time."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        parse(text)
        taken.append(time.process_time() - started)
    return min(taken) * 1000


def work(parse: Callable[[str], object], text: str) -> int:
    """Count calls of functions, built-in ones too: the same on every machine."""
    count = 0

    def counting(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        parse(text)
    finally:
        sys.setprofile(before)
    return count


def one_pass(text: str) -> int:
    """Look at every character once, as the plainest loop does."""
    count = 0
    for character in text:
        if character == "\n":
            count += 1
    return count


def slope(sizes: tuple[int, ...], taken: list[float]) -> float:
    """Return the exponent of the power of the length that the time grows with."""
    xs, ys = [math.log(size) for size in sizes], [math.log(max(ms, 0.01)) for ms in taken]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    rise = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    return rise / sum((x - x_mean) ** 2 for x in xs)


def measure(name: str, most_ms: float) -> int:
    """Print a dialect's worst shapes; return how many are too slow."""
    parse: Callable[[str], object] = plugins.load("chart_binder.dialects", name)().parse
    at_small = {shape: milliseconds(parse, make(SMALL)) for shape, make in SHAPES.items()}
    worst = sorted(at_small, key=at_small.__getitem__, reverse=True)[:WORST]
    print(f"\n{name:26}" + "".join(f"{size // 1000:7} kB" for size in SIZES) + "   slope")
    bad = 0
    for shape in worst:
        taken = [milliseconds(parse, SHAPES[shape](size), 9) for size in SIZES]
        steep = slope(SIZES, taken)
        is_bad = steep > MOST_SLOPE or min(at_small[shape], taken[1]) > most_ms
        bad += is_bad
        cells = "".join(f"{ms:7.1f} ms" for ms in taken)
        print(f"{shape:26}{cells} {steep:7.2f}", "TOO SLOW" if is_bad else "")
    return bad


def main() -> int:
    """Measure every dialect; return how many shapes are too slow."""
    pass_ms = milliseconds(one_pass, "a" * SMALL, 9)
    most_ms = MOST_PASSES * max(pass_ms, FASTEST_PASS_MS)
    shapes = f"{len(SHAPES)} shapes"
    print(f"{shapes}; one pass over {SMALL // 1000} kB: {pass_ms:.1f} ms; limit {most_ms:.0f} ms")
    return sum(measure(name, most_ms) for name in plugins.names("chart_binder.dialects"))


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
