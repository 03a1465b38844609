"""A contest is what the rules look at: the candidates in the running, and who may be the first."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY, LAST_DAY, Answer
from chart_binder.domain.evidence import Artist, RecordingCandidate, Release
from chart_binder.domain.vocabulary import NO_COUNTRIES, country_code
from chart_binder.rules.candidates import Candidate, Role, candidates_of, hinted, is_soundtrack
from chart_binder.rules.names import is_by, names_on

_FORMER = {
    "SU": (
        "AM", "AZ", "BY", "EE", "GE", "KG", "KZ", "LT", "LV", "MD", "RU", "TJ", "TM", "UA", "UZ",
    ),
    "YU": ("BA", "CS", "HR", "ME", "MK", "RS", "SI", "XK"),
    "CS": ("ME", "RS"),
    "XC": ("CZ", "SK"),
    "XG": ("DE",),
}  # fmt: skip
"""MusicBrainz' codes of former countries, with those that followed (ISO 3166-3, and `X` codes)."""


@lru_cache(maxsize=512)
def home_countries(country: str | None) -> frozenset[str]:
    """Return the release countries that are an artist's own.

    A worldwide (`XW`) or European (`XE`) release is nobody's.
    """
    if not country or country in NO_COUNTRIES:
        return frozenset()
    former = {old for old, new in _FORMER.items() if country in new}
    return frozenset({country, *former, *_FORMER.get(country, ())})


Key: TypeAlias = tuple[int, bool, int]


class Ties:
    """What decides between two records of the same day.

    First the role: a soundtrack, then a studio album or what is typed for the recording's intent,
    then the rest. Then a release of that day in the artist's country, then label authority.

    Which releases are of that day may not be known: `best` counts all that may be, `worst` only
    those that must be, if the record came out on it. A later release never counts, so the countries
    and labels of a group, which are those of all its releases, do only where none is listed.

    Open cases are tried day by day, with the same releases, so each answer is kept.
    """

    __slots__ = ("_best", "_home", "_labels", "_worst", "intent")

    def __init__(self, intent: str, country: str | None, labels: Sequence[str]) -> None:
        self.intent = intent
        self._home = home_countries(country)
        self._labels = labels
        self._best: dict[str, Key] = {}
        self._worst: dict[str, Key] = {}

    def best(self, one: Candidate) -> Key:
        """Return the key on the first day it may have come out; the smaller goes first."""
        return self._kept(self._best, one, lambda each: each.when.first == one.since.first)

    def worst(self, one: Candidate) -> Key:
        """Return the key on the last day it may have come out."""
        return self._kept(self._worst, one, lambda each: each.when.last == one.by.last)

    def _kept(
        self, keys: dict[str, Key], one: Candidate, is_of_that_day: Callable[[Release], bool]
    ) -> Key:
        known = one.group.mb_rg_id
        if known not in keys:
            keys[known] = self._key(one, [*filter(is_of_that_day, one.official)])
        return keys[known]

    def _key(self, one: Candidate, editions: Sequence[Release]) -> Key:
        is_home, label = self._is_at_home(one, editions), self._label_rank(one, editions)
        return self._rank(one), not is_home, label

    def _rank(self, one: Candidate) -> int:
        if one.role is Role.SOUNDTRACK:
            return 0
        if self.intent:
            return 1 if self.intent in [kind.casefold() for kind in one.group.kinds] else 2
        return 1 if one.role is Role.ALBUM else 2

    def _is_at_home(self, one: Candidate, editions: Sequence[Release]) -> bool:
        listed = map(country_code, (one.is_weak and one.group.countries) or ())
        countries = {*listed, *(release.place for release in editions)}
        return not self._home.isdisjoint(countries - {None})

    def _label_rank(self, one: Candidate, editions: Sequence[Release]) -> int:
        listed = (one.is_weak and one.group.labels) or ()
        return label_rank(self._labels, [*listed, *(release.label for release in editions)])


def label_rank(order: Sequence[str], names: Sequence[str | None]) -> int:
    """Return the place of the best of some labels in an order of authority; past it, if none."""
    if not order:
        return 0
    known = {name.casefold() for name in names if name}
    return next((n for n, label in enumerate(order) if label.casefold() in known), len(order))


def may_be_first(works: Sequence[Candidate], ties: Ties) -> Sequence[Candidate]:
    """Return those works that may be the earliest, however the unknown days fall.

    Exact: a work is among them if and only if there is a choice of days, each within what is
    known of it, that makes it the earliest.
    """
    if len(works) <= 1:
        return works
    soonest = min([work.last for work in works])
    close = [work for work in works if work.first <= soonest]
    if len(close) == 1 or all(work.first < soonest for work in close):
        return close
    least = min(ties.worst(work) for work in close if work.last == soonest)
    return [work for work in close if work.first < soonest or ties.best(work) <= least]


_NEVER = 2 * LAST_DAY
_MOST_NEAR = 3


class Forerunner(msgspec.Struct, frozen=True, eq=False):
    """A compilation that may be long before every work, with no compilation long before it."""

    candidate: Candidate
    is_own: Answer
    """Whether it is credited to the artist."""
    is_alone: bool
    """Whether no other compilation may have come out within the window of it, or before."""
    outruns: bool
    """Whether it is all that for certain, so that no work can be where the recording came out."""

    @property
    def is_certain(self) -> bool:
        """Whether it is the premiere whatever the true days are."""
        return self.outruns and self.is_alone


class Precursors(msgspec.Struct, frozen=True, eq=False):
    """The dated records that gather what may have come out elsewhere."""

    compilations: Sequence[Candidate]
    soundtracks: Sequence[Candidate]
    """Those that run as works: a compilation has to be before them, not long before."""

    def near(self, one: Candidate, window: int) -> list[Candidate]:
        """Return the first few others that may be within `window` days of a forerunner."""
        everything = (*self.compilations, *self.soundtracks)
        close = (each for each in everything if each.first <= one.last + window)
        others = (each for each in close if each.group.mb_rg_id != one.group.mb_rg_id)
        return [each for each, _ in zip(others, range(_MOST_NEAR), strict=False)]


def precursors(compilations: Sequence[Candidate], soundtracks: Sequence[Candidate]) -> Precursors:
    """Leave out what has no date; the group's date stands in as the earliest day it may be."""
    spans = [one if one.first > FIRST_DAY else hinted(one) for one in compilations]
    return Precursors([one for one in spans if one], soundtracks)


def forerunners(
    field: Precursors, works: Sequence[Candidate], artist: Artist, window: int
) -> Sequence[Forerunner]:
    """Return the compilations that may precede every work by more than `window` days.

    One of them is the premiere if every other compilation is more than the window later too. If
    another may be nearer, nobody knows which was first; that one is much earlier rules it out.
    """
    work_last = min([one.last for one in works], default=_NEVER)
    early = [one for one in field.compilations if one.first + window < work_last]
    if not early:
        return ()
    others = (*field.compilations, *field.soundtracks)
    soonest, first = two_least(one.last for one in others), two_least(one.first for one in others)
    work_first = min([one.first for one in works], default=_NEVER)
    sound_last = min([one.last for one in field.soundtracks], default=_NEVER)
    sound_first = min([one.first for one in field.soundtracks], default=_NEVER)
    names: set[str] | None = None
    found = []
    for one in early:
        other_last = soonest[one.last == soonest[0]]
        if one.first >= sound_last or one.first > other_last + window:
            continue
        names = names or _names(artist, works)
        is_own = is_by(names, one.group, one.official)
        if is_own is False:
            continue
        other_first = first[one.first == first[0]]
        is_ahead = one.last + window < work_first and one.last < sound_first
        is_early = one.last <= other_first + window
        outruns = is_own is True and is_ahead and is_early
        found.append(Forerunner(one, is_own, one.last + window < other_first, outruns))
    return found


def two_least(days: Iterable[int]) -> tuple[int, int]:
    """Return the least day of all, then that of all but one which has it."""
    first, second, *_ = *sorted(days)[:2], _NEVER, _NEVER
    return first, second


def _names(artist: Artist, works: Sequence[Candidate]) -> set[str]:
    """Return the artist's names: as in the evidence, and as credited on singles and albums."""
    credited = [work for work in works if work.role in (Role.SINGLE, Role.ALBUM)]
    names = {name for work in credited for name in names_on(work.group, work.official)}
    return names | {artist.name} if artist.name else names


_HOLDING = (Role.SINGLE, Role.SOUNDTRACK)
"""An undated record of these may be the premiere, so it holds a decision up."""

_INTENTS = (
    ("is_live", "live"), ("is_remix", "remix"), ("is_demo", "demo"),
    ("is_radio_edit", "radio edit"),
)  # fmt: skip


class Contest(msgspec.Struct, frozen=True, eq=False):
    """The candidates for one recording, sorted by what they can decide."""

    candidates: Sequence[Candidate]
    works: Sequence[Candidate]
    """Official records that are more than a gathering; undated ones only where they hold up."""
    undated: Sequence[Candidate]
    """Works left aside, as nothing dates them and they are no singles or soundtracks."""
    compilations: Sequence[Candidate]
    """Official gatherings of what came out elsewhere."""
    firsts: Sequence[Candidate]
    """The works that may be the earliest; one only, where the dates known settle it."""
    singles: Sequence[Candidate]
    """The singles and EPs among the firsts."""
    albums: Sequence[Candidate]
    """The studio albums that may be the earliest of the studio albums."""
    forerunners: Sequence[Forerunner]
    """Compilations that may be the premiere all the same."""
    precursors: Precursors
    """What a compilation has to be before, to be the premiere, beside works."""
    ties: Ties
    recordings: Sequence[RecordingCandidate]
    artist: Artist
    knobs: RulesConfig

    @property
    def intent(self) -> str:
        """`live`, `remix`, `demo` or `radio edit` where the recording is one; else empty."""
        return self.ties.intent

    @property
    def what(self) -> str:
        """What to call a recording of this intent."""
        return f"a {self.intent}" if self.intent != "live" else "a live recording"


def contest(
    recordings: Sequence[RecordingCandidate], artist: Artist, knobs: RulesConfig
) -> Contest:
    """Set up the contest for recordings that stand for one song."""
    ties = Ties(intent_of(recordings), artist.country, knobs.label_authority_order)
    return _between(candidates_of(recordings), recordings, artist, ties, knobs)


def between(candidates: Sequence[Candidate], contest: Contest) -> Contest:
    """Set up the contest for the same song, were these its candidates."""
    return _between(candidates, contest.recordings, contest.artist, contest.ties, contest.knobs)


def _between(
    candidates: Sequence[Candidate],
    recordings: Sequence[RecordingCandidate],
    artist: Artist,
    ties: Ties,
    knobs: RulesConfig,
) -> Contest:
    works: list[Candidate] = []
    compilations: list[Candidate] = []
    for candidate in candidates:
        if candidate.official or candidate.is_weak:
            gathers = candidate.role is Role.COMPILATION
            (compilations if gathers else works).append(candidate)
    soundtracks = _running_soundtracks(compilations, is_any_work=bool(works))
    if soundtracks:
        running = {one.group.mb_rg_id for one in soundtracks}
        compilations = [one for one in compilations if one.group.mb_rg_id not in running]
        works += [one for one in soundtracks if not one.is_dated]
        soundtracks = [one for one in soundtracks if one.is_dated]
    rest, undated = _in_the_running(works, soundtracks, knobs.lead_window_days)
    works = [*rest, *soundtracks]
    firsts = may_be_first(works, ties)
    albums = may_be_first([one for one in works if one.role is Role.ALBUM], ties)
    field = precursors(compilations, soundtracks)
    ahead: Sequence[Forerunner] = ()
    if field.compilations and knobs.compilation_premiere:
        ahead = forerunners(field, rest, artist, knobs.lead_window_days)
        if any(one.outruns for one in ahead):
            firsts = []
    singles = [one for one in firsts if one.role is Role.SINGLE]
    return Contest(
        candidates, works, undated, compilations, firsts, singles, albums, ahead, field, ties,
        recordings, artist, knobs,
    )  # fmt: skip


def intent_of(recordings: Sequence[RecordingCandidate]) -> str:
    """Return what kind of performance or mix all the recordings are, if one that has its own home.

    Those of two kinds are none of them: each of the two is ruled on its own then.
    """
    intents = {_intent(recording) for recording in recordings}
    return next(iter(intents)) if len(intents) == 1 else ""


def _intent(recording: RecordingCandidate) -> str:
    flags = recording.intent
    return next((name for flag, name in _INTENTS if getattr(flags, flag)), "")


def _running_soundtracks(
    compilations: Sequence[Candidate], *, is_any_work: bool
) -> list[Candidate]:
    """Return the soundtracks that are compilations too and yet run as works.

    Beside a work, dated or not, such a record is where the recording came out if it is the
    earliest. Among compilations alone it is but one of them, unless it is certainly no later than
    every other that has a date.
    """
    found = [one for one in compilations if one.kind != "compilation" and is_soundtrack(one.group)]
    if found and not is_any_work:
        soonest = two_least(one.first for one in compilations if one.is_dated)
        is_alone = len(compilations) == 1
        found = [
            one
            for one in found
            if is_alone or (one.is_dated and one.last <= soonest[one.first == soonest[0]])
        ]
    return [replace(one, role=Role.SOUNDTRACK) for one in found]


def _in_the_running(
    works: list[Candidate], soundtracks: Sequence[Candidate], window: int
) -> tuple[list[Candidate], list[Candidate]]:
    """Leave undated albums and the like aside, if any work is dated.

    One whose group is dated stays, where it may be the earliest by that or an album within the
    window: nobody knows how much later than its group it is.
    """
    undated = [work for work in works if work.first == FIRST_DAY and work.role not in _HOLDING]
    dated = [one.last for one in (*works, *soundtracks) if one.first > FIRST_DAY]
    if not undated or not dated:
        return works, []
    soonest = min(dated) + window
    early = {
        one.group.mb_rg_id: one
        for one in filter(None, map(hinted, undated))
        if one.first <= soonest
    }
    aside = [one for one in undated if one.group.mb_rg_id not in early]
    left = {one.group.mb_rg_id for one in aside}
    running = [
        early.get(one.group.mb_rg_id, one) for one in works if one.group.mb_rg_id not in left
    ]
    return running, aside


class Ruling(msgspec.Struct, frozen=True, eq=False):
    """The candidates a rule may choose, over every way the unknown days can fall.

    None: the rule does not fire, and `said` is why. One: if no other rule may choose another
    candidate, that is the decision, and `said` is its reason. With `doubts` the rule would choose,
    were it not for facts that contradict; they name what is missing.
    """

    choices: Sequence[Candidate]
    said: str
    doubts: tuple[str, ...] = ()


def passes(why: str) -> Ruling:
    """Return the ruling of a rule that does not fire."""
    return Ruling((), why)
