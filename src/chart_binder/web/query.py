"""A search query that a SearXNG server searches for, word for word, instead of obeying.

SearXNG reads syntax in every word, not only in the first: `!word` picks an engine, `!!g` leaves
for another site, `:de` sets the language, `<3` a timeout (searx/query.py); and a first word such
as `sum` is computed, in lower case only (searx/answerers). Bands are called so all the same.
"""

import re
import unicodedata

LONGEST_QUERY = 300

# `!!!` alone and `:wumpscut:` mean nothing to it; `?word` does to its ancestor searx.
_SYNTAX = re.compile(r"[!?]+[^!?].*|!!|:[^:]+|<.+")
_COMPUTED = frozenset({"avg", "min", "max", "sum", "prod", "range", "random"})


def plain_query(text: str) -> str:
    """Return the query on one line, bounded, with every word that is syntax put in quotes.

    Inside a quotation the mark itself goes, since quotes do not nest; a computed word gets a
    capital, which engines ignore. What is left of nothing is "".
    """
    words: list[str] = []
    quoted = False
    for word in _shortened(_visible(text)).split():
        plain = _plain_word(word, quoted=quoted)
        quoted ^= plain.count('"') % 2 == 1
        words.append(plain)
    words = [word for word in words if word]
    if words and words[0] in _COMPUTED:
        words[0] = words[0].capitalize()
    return " ".join(words)


def _plain_word(word: str, *, quoted: bool) -> str:
    if not _SYNTAX.fullmatch(word):
        return word
    if quoted:
        return word.lstrip("!?:<")
    bare = word.replace('"', "")
    return f'"{bare}"'


def _visible(text: str) -> str:
    return "".join(
        " " if unicodedata.category(character) in {"Cc", "Zl", "Zp"} else character
        for character in text
        if unicodedata.category(character) not in {"Cf", "Cs"}
    ).strip()


def _shortened(text: str) -> str:
    """Cut a long query between two words where that is possible."""
    if len(text) <= LONGEST_QUERY:
        return text
    head, _, _ = text[: LONGEST_QUERY + 1].rpartition(" ")
    return head or text[:LONGEST_QUERY]
