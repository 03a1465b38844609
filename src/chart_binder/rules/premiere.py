"""The earliest work is where a recording came out; which rule says so depends on what it is."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date

import msgspec

from chart_binder.domain.dates import before, same_day
from chart_binder.domain.vocabulary import isrc
from chart_binder.rules.candidates import Candidate, Role, gathers, is_soundtrack
from chart_binder.rules.contest import Contest, Forerunner, Ruling, passes
from chart_binder.rules.explain import NEVER_OUT, copy_of


def album_lead_window(contest: Contest) -> Ruling:
    """Choose the album, if a single or EP comes first and the album 1 to `lead_window_days` after.

    Only a studio album counts: one that is also a soundtrack, a live record, a compilation or a
    remix album, or that is by various artists, is no album that a single leads to.
    """
    if contest.intent:
        return passes(f"the recording is {contest.what}")
    singles = contest.singles
    if not singles:
        return passes("no single or EP comes first")
    if not contest.albums:
        dated = "dated " if contest.undated else ""
        return passes(f"no {dated}studio album carries it beside {singles[0].name}")
    choices = _led_to(singles, contest)
    window = contest.knobs.lead_window_days
    if not choices:
        return passes(f"no album came out within {window} days after {singles[0].dated_name}")
    return Ruling(choices, _led(singles[0], choices[0], window))


def album_same_date(contest: Contest) -> Ruling:
    """Choose the album, if album and single come first, on the same day."""
    if contest.intent:
        return passes(f"the recording is {contest.what}")
    choices = [one for one in contest.firsts if one.role is Role.ALBUM]
    if not choices:
        return passes("no studio album comes first")
    soonest = min([one.last for one in contest.works])
    for single in contest.works:
        if single.role is Role.SINGLE and single.first <= soonest:  # as are all the choices
            return Ruling(choices, _not_led(single, choices[0]))
    return passes(f"no single came out on the day of {choices[0].dated_name}")


def _led_to(singles: Sequence[Candidate], contest: Contest) -> list[Candidate]:
    """Return the albums that may be within the window after a single that may be the first."""
    latest_single = min([one.last for one in contest.works])
    latest_album = min([one.last for one in contest.albums])
    if latest_album - min([one.first for one in singles]) < 1:
        return []
    window = contest.knobs.lead_window_days
    return [one for one in contest.albums if one.first - latest_single <= window]


def _not_led(single: Candidate, album: Candidate) -> str:
    if album.first == album.last == single.first == single.last:
        return f"{album.dated_name} and {single.dated_name} came out on the same day"
    return (
        f"{single.dated_name} came out on the day of {album.dated_name} or later: either way it is"
        " the album"
    )


def _led(single: Candidate, album: Candidate, window: int) -> str:
    least, most = album.first - single.last, album.last - single.first
    if least >= 1 and most <= window:
        days = f"{least} to {most} days" if least < most else f"{most} day{'s' if most > 1 else ''}"
        return (
            f"{single.dated_name} led to {album.dated_name} {days} later,"
            f" within the window of {window} days"
        )
    return (
        f"{single.dated_name} came out no more than {min(most, window)} days before"
        f" {album.dated_name}, if before it at all: either way it is the album"
    )


MISSING = "the original release is missing from the evidence"

_MOST_DOUBTS = 3
_MOST_TOLD = 3
_TURN_OF_CENTURY = 40
_ISRC = re.compile(r"[A-Z]{2}[A-Z0-9]{3}([0-9]{2})")


def compilation_as_premiere(contest: Contest) -> Ruling:
    """Choose a compilation, if nothing else carries the recording or it is long before the rest.

    Long before: credited to the artist, earlier than everything else by more than the lead window,
    other compilations included. If it is that before every work, but another compilation lies
    within the window, nobody knows which of them it was. Not if anything contradicts it: the
    recording's own first date, the year of an ISRC, an earlier promotional copy or bootleg. Of
    several compilations and nothing else, none by others is chosen: the original is missing from
    the evidence.
    """
    compilations = contest.compilations
    if not compilations:
        return passes("no compilation carries it")
    if not contest.knobs.compilation_premiere:
        return _left_aside(contest, "compilations are left aside (rules.compilation_premiere)")
    if len(compilations) == 1 and not contest.works:
        lone = compilations[0]
        said = f"nothing else than {lone.dated_name} carries it officially"
        return Ruling(compilations, said, contradictions(lone, contest))
    if not contest.forerunners:
        return _left_aside(contest, "no compilation of the artist's own is long before the rest")
    doubts = [doubt for one in contest.forerunners[:_MOST_TOLD] for doubt in _doubts(one, contest)]
    doubts += _by_the_undated(contest)
    choices = [ahead.candidate for ahead in contest.forerunners]
    return Ruling(choices, _long_before(choices[0], contest), tuple(doubts))


def _doubts(ahead: Forerunner, contest: Contest) -> Iterator[str]:
    """Yield why a forerunner may not be the premiere, if it is long before the works."""
    window, name = contest.knobs.lead_window_days, ahead.candidate.dated_name
    yield from contradictions(ahead.candidate, contest)
    if ahead.is_own is None:
        yield f"is {name} the artist's own? No credit tells"
    if not ahead.is_alone:
        near = (one.dated_name for one in contest.precursors.near(ahead.candidate, window))
        told = " or ".join(sorted([name, *near]))
        yield f"which was the first, {told}? They came out, or may have, within {window} days"


def _by_the_undated(contest: Contest) -> Iterator[str]:
    """Yield the dates to ask for, where the only dated one of several compilations is all there is.

    Then no date at all says that it was the first of them.
    """
    if contest.works or len(contest.precursors.compilations) > 1:
        return
    (first,) = contest.precursors.compilations
    undated = [one for one in contest.compilations if not one.is_dated]
    for one in undated[:_MOST_TOLD]:
        yield f"{one.name} has no date: did it come out before {first.dated_name}?"


def _long_before(first: Candidate, contest: Contest) -> str:
    """Return why a compilation is the premiere; of what has no date nothing can be said."""
    records = (*contest.compilations, *contest.works, *contest.undated)
    is_any_undated = any(one is not first and not one.since.is_known for one in records)
    rest = "the rest that has a date" if is_any_undated else "the rest"
    window = contest.knobs.lead_window_days
    return f"{first.dated_name} is the artist's own, more than {window} days before {rest}"


def _left_aside(contest: Contest, why: str) -> Ruling:
    """Pass on to the works; without any, the original is missing."""
    if contest.works:
        return passes(why)
    first = min(contest.compilations, key=lambda one: (one.last, one.title, one.group.mb_rg_id))
    what = (
        "only a compilation carries"
        if len(contest.compilations) == 1
        else "only compilations carry"
    )
    fact = f"{MISSING}: {what} it, the earliest {first.dated_name}"
    return Ruling((), f"{what} it: {why}", (fact,))


def contradictions(compilation: Candidate, contest: Contest) -> tuple[str, ...]:
    """Return what says that the recording was out, or may have been, before a compilation."""
    doubts = sorted({*_by_recording(compilation, contest), *_by_copies(compilation, contest)})
    return tuple(doubts[:_MOST_DOUBTS])


def _by_recording(compilation: Candidate, contest: Contest) -> Iterator[str]:
    """Yield what MusicBrainz' own first date and the ISRCs of the recording contradict.

    MusicBrainz takes a recording's first date from its releases (`recording_first_release_date`),
    so one that may be the compilation's is the compilation's, however exactly each is written. It
    counts copies too: a date that may be that of a copy of the compilation says nothing more, nor
    one that may be that of any release that never came out.
    """
    is_dated = compilation.since.is_known
    copies = [copy for copy in compilation.aside if copy.when.is_known]
    for other in contest.candidates:
        copies += [one for one in other.aside if one.date and one.standing in NEVER_OUT]
    for recording in contest.recordings:
        hint = recording.first_date
        is_of_a_copy = any(same_day(hint, copy.when) is not False for copy in copies)
        if hint.is_known and not is_dated and not is_of_a_copy:
            yield (
                f"the recording is dated {hint}, and {compilation.name} has no date: on which"
                " record did it come out then?"
            )
        elif hint.last < compilation.first and not is_of_a_copy:
            yield (
                f"{MISSING}: the recording is dated {hint}, and {compilation.dated_name} is later"
            )
        for code in recording.isrcs or ():
            year = isrc_year(code)
            if not year or date(year, 12, 31).toordinal() >= compilation.last:
                continue
            if is_dated:
                yield (
                    f"{MISSING}: ISRC {code} was assigned in {year}, before"
                    f" {compilation.dated_name}"
                )
            else:
                yield (
                    f"ISRC {code} was assigned in {year}, and {compilation.name} has no date: on"
                    " which record did it come out then?"
                )


def _by_copies(compilation: Candidate, contest: Contest) -> Iterator[str]:
    """Yield the promotional copies and bootlegs of other records that were out before."""
    for other in contest.candidates:
        if other is compilation or other.group.mb_rg_id == compilation.group.mb_rg_id:
            continue
        for release in other.aside:
            earlier = before(release.when, compilation)
            if earlier is False or not release.when.is_known or release.standing in NEVER_OUT:
                continue
            what = f"{copy_of(release.standing)} of {other.name} is dated {release.when}"
            if earlier:
                yield f"{what}, before {compilation.dated_name}: what is it a copy of?"
            else:
                yield f"{what}: before {compilation.dated_name}?"


def isrc_year(code: str) -> int | None:
    """Return the year an ISRC was assigned in (`CC-XXX-YY-NNNNN`, ISO 3901).

    Two digits stand for a year from 1940 to 2039: the first codes date from 1986, and some
    registrants gave older recordings the year they were made in.
    """
    form = _ISRC.match(isrc(code))
    if form is None:
        return None
    year = int(form[1])
    return year + (2000 if year < _TURN_OF_CENTURY else 1900)


def soundtrack_premiere(contest: Contest) -> Ruling:
    """Choose a soundtrack that is certainly no later than everything else, compilations included.

    On the same day as another record it is the soundtrack, whichever that is. One that is a
    compilation too, with nothing but compilations beside it, is held against what may contradict
    it, as a compilation is.
    """
    choices = [one for one in contest.firsts if one.role is Role.SOUNDTRACK]
    if choices:
        earlier = next((one for one in contest.compilations if _may_precede(one, choices)), None)
        if earlier:
            return passes(f"{earlier.dated_name} came out before {choices[0].name}, or may have")
        gathers_only = all(gathers(one.group) for one in contest.works)
        doubts = contradictions(choices[0], contest) if gathers_only else ()
        return Ruling(choices, _earliest(choices[0], contest), doubts)
    late = next((one for one in contest.works if one.role is Role.SOUNDTRACK), None)
    if late:
        return passes(f"{late.dated_name} came out later")
    gathering = next((one for one in contest.compilations if is_soundtrack(one.group)), None)
    if gathering:
        return passes(f"{gathering.dated_name} gathers what came out elsewhere")
    return passes("no soundtrack carries it")


def _may_precede(compilation: Candidate, soundtracks: Sequence[Candidate]) -> bool:
    """Whether a compilation may be earlier than a soundtrack; an undated one says nothing."""
    latest = max([one.last for one in soundtracks])
    return compilation.is_dated and compilation.first < latest


def single_true_premiere(contest: Contest) -> Ruling:
    """Choose a single or EP that comes first, with no studio album, or one after the window."""
    if contest.intent:
        return passes(f"the recording is {contest.what}")
    singles = contest.singles
    if not singles:
        return passes("no single or EP comes first")
    choices = _standing_alone(singles, contest)
    if not choices:
        return passes(f"an album followed {singles[0].name} within the window")
    single = choices[0]
    if not contest.albums:
        if len(contest.works) == 1:
            return Ruling(choices, _only(single, contest))
        dated = "dated " if contest.undated else ""
        said = f"{single.dated_name} comes first, and no {dated}studio album carries it"
        return Ruling(choices, said)
    album, window = contest.albums[0], contest.knobs.lead_window_days
    return Ruling(
        choices,
        f"{single.dated_name} came out {_apart(single, album)} before {album.dated_name},"
        f" more than the {window} days of the window",
    )


def _standing_alone(singles: Sequence[Candidate], contest: Contest) -> Sequence[Candidate]:
    """Return the singles that may have come out so early that no album is within the window."""
    if not contest.albums:
        return singles
    soonest = min([album.last for album in contest.albums]) - contest.knobs.lead_window_days
    return [single for single in singles if single.first < soonest]


def live_only_premiere(contest: Contest) -> Ruling:
    """Choose the earliest live record, where nothing but live records carry the recording."""
    if not contest.firsts:
        return passes("no live record comes first")
    works = (*contest.works, *contest.undated)
    studio = next((one for one in works if one.role is not Role.LIVE), None)
    if studio:
        return passes(f"{studio.name} is no live record")
    return Ruling(
        contest.firsts, f"only live records carry it; {_earliest(contest.firsts[0], contest)}"
    )


def intent_match(contest: Contest) -> Ruling:
    """Choose the earliest record of a remix, edit, live or demo recording.

    Such a recording does not lead to an album: it belongs where it was first heard. Of records of
    one day, one typed for it (a Remix EP for a remix) goes before others.
    """
    if not contest.intent:
        return passes("the recording is no remix, edit, live or demo recording")
    if not contest.firsts:
        return passes("no work carries it")
    first = contest.firsts[0]
    return Ruling(
        contest.firsts, f"the recording is {contest.what}, and {_earliest(first, contest)}"
    )


def earliest_official(contest: Contest) -> Ruling:
    """Choose the work that is certainly the earliest, where it is no single."""
    choices = [one for one in contest.firsts if one.role is not Role.SINGLE]
    if not choices:
        return passes("no album or other work comes first")
    return Ruling(choices, _earliest(choices[0], contest))


def _earliest(first: Candidate, contest: Contest) -> str:
    if len(contest.works) > 1:
        of_dated = " and has a date" if contest.undated else ""
        return f"{first.dated_name} is the earliest official work that carries it{of_dated}"
    return _only(first, contest)


def _only(lone: Candidate, contest: Contest) -> str:
    if contest.undated:
        return f"{lone.dated_name} carries it, and no other official work that does has a date"
    others = "but compilations" if contest.compilations else "else"
    return f"{lone.dated_name} carries it, and nothing {others} does officially"


def _apart(one: Candidate, other: Candidate) -> str:
    least, most = other.first - one.last, other.last - one.first
    if least == most:
        return f"{least} days"
    is_known = one.since.is_known and other.since.is_known
    return f"{least} to {most} days" if is_known else "some time"


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


class Weighed(msgspec.Struct, frozen=True, eq=False):
    """What the rules make of a contest."""

    asked: Sequence[tuple[str, Ruling]]
    possible: Sequence[Candidate]
    """What may be the answer: one candidate, where the unknown facts make no difference."""
    doubts: Sequence[str]

    @property
    def chosen(self) -> Candidate | None:
        """The decision, if there is one."""
        return self.possible[0] if len(self.possible) == 1 and not self.doubts else None


def weigh(contest: Contest) -> Weighed:
    """Ask every rule.

    A rule answers with what it may choose when the unknown days fall one way or another. If all
    answers together name one candidate, it is the decision whatever the true days are, and the
    first rule that named it is the one that fires.
    """
    asked = [(code, ask(contest)) for code, ask in RULES]
    possible: dict[str, Candidate] = {}
    doubts: dict[str, None] = {}
    for _, ruling in asked:
        for one in ruling.choices:
            possible.setdefault(one.group.mb_rg_id, one)
        if ruling.doubts:
            doubts |= dict.fromkeys(ruling.doubts)
    return Weighed(asked, list(possible.values()), list(doubts))
