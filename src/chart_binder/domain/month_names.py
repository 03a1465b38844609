"""Names of months, folded (`vocabulary.fold`), in the languages of the web's discographies."""

from itertools import groupby

from chart_binder.domain.vocabulary import word_table

_TABLE = word_table("month_names")

MONTHS = {name: number for number, each in enumerate(_TABLE["months"], 1) for name in each.split()}
"""The number of a month by its name: alone, as a date has it, inflected, abbreviated."""

ENGLISH_MONTHS = frozenset(_TABLE["english"].split())
"""The full English names."""

AMBIGUOUS_MONTHS = frozenset(_TABLE["ambiguous"].split())
"""Names of months that are words in another language: "it came out 1974"."""


def month_pattern() -> str:
    """Return a regular expression for folded text that matches the longest possible name.

    Names are grouped by their first letter, so that a position without a month fails quickly.
    """
    longest_first = sorted(MONTHS, key=lambda name: (name[0], -len(name), name))
    by_letter = groupby(longest_first, key=lambda name: name[0])
    return "|".join(
        f"{first}(?:{'|'.join(name[1:] for name in all_)})" for first, all_ in by_letter
    )
