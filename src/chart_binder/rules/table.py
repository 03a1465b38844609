"""The rules for the canonical release group, in the order in which they are asked."""

from collections.abc import Callable

from chart_binder.rules.album import album_lead_window, album_same_date
from chart_binder.rules.compilation import compilation_as_premiere
from chart_binder.rules.contest import Contest
from chart_binder.rules.premiere import (
    earliest_official,
    intent_match,
    live_only_premiere,
    single_true_premiere,
    soundtrack_premiere,
)
from chart_binder.rules.ruling import Ruling

Rule = Callable[[Contest], Ruling]

TABLE_VERSION = 2
"""One more whenever a rule would answer otherwise than before: kept decisions are held to it."""

RULES: tuple[tuple[str, Rule], ...] = (
    ("CRG:SOUNDTRACK_PREMIERE", soundtrack_premiere),
    ("CRG:ALBUM_LEAD_WINDOW", album_lead_window),
    ("CRG:ALBUM_SAME_DATE", album_same_date),
    ("CRG:SINGLE_TRUE_PREMIERE", single_true_premiere),
    ("CRG:LIVE_ONLY_PREMIERE", live_only_premiere),
    ("CRG:INTENT_MATCH", intent_match),
    ("CRG:COMPILATION_AS_PREMIERE", compilation_as_premiere),
    ("CRG:EARLIEST_OFFICIAL", earliest_official),
)
"""First match wins; the text of a rule is its docstring.

A person's override goes before all of them and is not asked of the evidence (`decide`).
"""
