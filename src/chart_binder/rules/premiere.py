"""The rule table, which chooses the record on which a recording first came out."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from operator import attrgetter

import msgspec

from chart_binder.domain.dates import LAST_DAY, time_between
from chart_binder.domain.media import first_day_on_sale
from chart_binder.rules.candidates import MAX_NAMED, Candidate, Role, is_compilation, is_soundtrack
from chart_binder.rules.contest import Contest, EarlyCompilation
from chart_binder.rules.missing_original import (
    MISSING,
    contradictions,
    only_gathers,
    unlisted_original,
)
from chart_binder.rules.questions import (
    Answer,
    DraftQuestion,
    day_answers,
    in_groups,
    premiere_answer,
    set_fields,
)


class Ruling(msgspec.Struct, frozen=True, eq=False):
    """The candidates that a rule may choose, depending on the exact days of vague dates.

    If `choices` is empty, the rule does not fire, and `reason` says why. A single candidate is the
    decision if no other rule may choose another one. `doubts` are questions about facts that
    contradict the choice; they keep the case open.
    """

    choices: Sequence[Candidate]
    text: str
    """The reason as a format string for the candidates in `about`, such as `{0.name} is late`."""
    about: tuple[Candidate, ...] = ()
    doubts: tuple[DraftQuestion, ...] = ()

    @property
    def reason(self) -> str:
        """Why the rule fires, or why it does not; formatted late, because few reasons are read."""
        return self.text.format(*self.about)


def no_choice(text: str, *about: Candidate) -> Ruling:
    """Return the ruling of a rule that does not fire, with the reason."""
    return Ruling((), text, about)


def soundtrack_premiere(contest: Contest) -> Ruling:
    """Choose a soundtrack that is certainly no later than any other record.

    It comes before other records of the same day. A soundtrack compilation is checked for
    contradictions, as other compilations are, if all other records are compilations. So is a
    soundtrack by other artists if nothing shows that the recording was new on it; this rule or
    another chooses it only if siblings were looked up and none was found.
    """
    choices = [work for work in contest.firsts if work.role is Role.SOUNDTRACK]
    if choices:
        first, doubts = choices[0], tuple[DraftQuestion, ...]()
        if first.is_own is False and only_gathers(first, contest):
            doubts = _doubts_of_others(first, contest)
        elif all(is_compilation(work.group) for work in contest.works):
            doubts = contradictions(first, contest)
        latest = max([choice.last for choice in choices])
        for compilation in contest.compilations:
            if compilation.is_dated and compilation.first < latest:
                text = "{0.dated_name} came out before {1.name}, or may have"
                return Ruling((), text, (compilation, first), doubts)
        return Ruling(choices, _earliest_reason(contest), (first,), doubts)
    late = next((work for work in contest.works if work.role is Role.SOUNDTRACK), None)
    if late:
        return no_choice("{0.dated_name} came out later", late)
    collections = [record for record in contest.compilations if is_soundtrack(record.group)]
    if collections:
        return no_choice("{0.dated_name} gathers what came out elsewhere", collections[0])
    return no_choice("no soundtrack carries it")


def _doubts_of_others(soundtrack: Candidate, contest: Contest) -> tuple[DraftQuestion, ...]:
    doubts = contradictions(soundtrack, contest)
    if contest.bundle.has_no_sibling:
        return doubts
    text = (
        f"{soundtrack.dated_name} is by others, and nothing says that the recording was new on it"
    )
    text = contest.bundle.with_possible_sibling(f"{MISSING}: {text}")
    return (_ask_whether_first(text, soundtrack), *doubts)


def album_lead_window(contest: Contest) -> Ruling:
    """Choose the album if it came out 1 to `lead_window_days` days after a single or EP.

    The single or EP must be the first record, and the album a studio album: no soundtrack, live
    record, compilation or remix album, and not by various artists.
    """
    if contest.intent:
        return no_choice(f"the recording is {contest.intent_noun}")
    singles = contest.singles
    if not singles:
        return no_choice("no single or EP comes first")
    if not contest.albums:
        dated = "dated " if contest.undated else ""
        text = f"no {dated}studio album carries it beside {{0.name}}"
        return no_choice(text, singles[0])
    choices = _albums_within_window(singles, contest)
    window = contest.settings.lead_window_days
    if not choices:
        text = f"no album came out within {window} days after {{0.dated_name}}"
        return no_choice(text, singles[0])
    single, album = singles[0], choices[0]
    least, most = album.first - single.last, album.last - single.first
    if least >= 1 and most <= window:
        text = (
            f"{{0.dated_name}} led to {{1.dated_name}} {time_between(least, most)} later,"
            f" within the window of {window} days"
        )
    else:
        text = (
            f"{{0.dated_name}} came out no more than {min(most, window)} days before"
            " {1.dated_name}, if before it at all: either way it is the album"
        )
    return Ruling(choices, text, (single, album))


def _albums_within_window(singles: Sequence[Candidate], contest: Contest) -> list[Candidate]:
    latest_single = min([work.last for work in contest.works])
    latest_album = min([album.last for album in contest.albums])
    if latest_album - min([single.first for single in singles]) < 1:
        return []
    window = contest.settings.lead_window_days
    return [album for album in contest.albums if album.first - latest_single <= window]


def album_same_date(contest: Contest) -> Ruling:
    """Choose the album if an album and a single came out first, on the same day."""
    if contest.intent:
        return no_choice(f"the recording is {contest.intent_noun}")
    choices = [candidate for candidate in contest.firsts if candidate.role is Role.ALBUM]
    if not choices:
        return no_choice("no studio album comes first")
    album = choices[0]
    soonest = min([candidate.last for candidate in contest.works])
    for single in contest.works:
        if single.role is Role.SINGLE and single.first <= soonest:  # as are all the choices
            text = (
                "{1.dated_name} came out on the day of {0.dated_name} or later: either way it is"
                " the album"
            )
            if album.first == album.last == single.first == single.last:
                text = "{0.dated_name} and {1.dated_name} came out on the same day"
            return Ruling(choices, text, (album, single))
    return no_choice("no single came out on the day of {0.dated_name}", album)


def single_true_premiere(contest: Contest) -> Ruling:
    """Choose a single or EP that comes first if no studio album follows within the window."""
    if contest.intent:
        return no_choice(f"the recording is {contest.intent_noun}")
    choices, window = contest.singles, contest.settings.lead_window_days
    if not choices:
        return no_choice("no single or EP comes first")
    if contest.albums:
        soonest = min([album.last for album in contest.albums]) - window
        choices = [single for single in choices if single.first < soonest]
    if not choices:
        return no_choice("an album followed {0.name} within the window", contest.singles[0])
    single = choices[0]
    if contest.albums:
        album = contest.albums[0]
        text = (
            f"{{0.dated_name}} came out {_days_between(single, album)} before"
            f" {{1.dated_name}}, more than the {window} days of the window"
        )
        return Ruling(choices, text, (single, album))
    dated = "dated " if contest.undated else ""
    text = f"{{0.dated_name}} comes first, and no {dated}studio album carries it"
    if len(contest.works) == 1:
        text = _earliest_reason(contest)
    return Ruling(choices, text, (single,))


def live_only_premiere(contest: Contest) -> Ruling:
    """Choose the earliest live record if the recording is only on live records."""
    if not contest.firsts:
        return no_choice("no live record comes first")
    works = (*contest.works, *contest.undated)
    studio = next((candidate for candidate in works if candidate.role is not Role.LIVE), None)
    if studio:
        return no_choice("{0.name} is not a live record", studio)
    text = f"only live records carry it; {_earliest_reason(contest)}"
    return Ruling(contest.firsts, text, (contest.firsts[0],))


def intent_match(contest: Contest) -> Ruling:
    """Choose the earliest record of a remix, edit, live or demo recording.

    Such a recording belongs to the record on which it first came out, even if an album follows. Of
    records of one day, one of the same type (a Remix EP for a remix) comes first.
    """
    if not contest.intent:
        return no_choice("the recording is not a remix, an edit, a live or a demo recording")
    if not contest.firsts:
        return no_choice("no work carries it")
    text = f"the recording is {contest.intent_noun}, and {_earliest_reason(contest)}"
    return Ruling(contest.firsts, text, (contest.firsts[0],))


def compilation_as_premiere(contest: Contest) -> Ruling:
    """Choose a compilation if no other record has the recording, or if it is long before the rest.

    It is long before the rest if it is credited to the artist and earlier than every other record,
    compilations included, by more than the lead window. If another compilation came out within the
    window, the case is open. The case is open too if anything contradicts the compilation: the
    recording's own first date, the year of an ISRC, an earlier promotional copy or bootleg.

    A compilation by other artists proves nothing. If it is the only record, it is chosen only if
    siblings were looked up and none was found. If it is certainly long before every work, it keeps
    the case open. If there are several compilations and no work, none by other artists is chosen,
    because the original is missing from the evidence.
    """
    compilations = contest.compilations
    if not compilations:
        return no_choice("no compilation carries it")
    if not contest.settings.compilation_premiere:
        return _no_compilation(contest, "compilations are left aside (rules.compilation_premiere)")
    if len(compilations) == 1 and not contest.works:
        return _only_compilation(compilations[0], contest)
    early = contest.early_compilations
    if not early:
        return _no_compilation(
            contest, "no compilation by the artist came out long before the rest"
        )
    doubts = [doubt for record in early[:MAX_NAMED] for doubt in _doubts_about(record, contest)]
    doubts += _undated_beside_only_one(contest)
    choices = [compilation.candidate for compilation in early]
    first, records = choices[0], (*compilations, *contest.works, *contest.undated)
    is_any_undated = any(record is not first and not record.since.is_known for record in records)
    remainder = "the rest that has a date" if is_any_undated else "the rest"
    whose = "by others" if early[0].is_own is False else "the artist's own"
    window = contest.settings.lead_window_days
    text = f"{{0.dated_name}} is {whose}, more than {window} days before {remainder}"
    return Ruling(choices, text, (first,), tuple(doubts))


def _only_compilation(only: Candidate, contest: Contest) -> Ruling:
    """Rule on a compilation that is the only official record with the recording."""
    reason = "nothing else than {0.dated_name} carries it officially"
    doubts = contradictions(only, contest)
    is_own = only.is_own
    if not is_own and contest.bundle.has_no_sibling:
        reason += ", and no other recording of the performance was found"
    elif is_own is None:
        doubts = (_ask_whose(only, contest), *doubts)
    elif is_own is False:
        text = f"{MISSING}: only {only.dated_name} carries it, which is by others"
        text = contest.bundle.with_possible_sibling(text)
        doubts = (_ask_whether_first(text, only), *doubts)
    return Ruling([only], reason, (only,), doubts)


def earliest_official(contest: Contest) -> Ruling:
    """Choose the work that comes first if it is not a single."""
    choices = [candidate for candidate in contest.firsts if candidate.role is not Role.SINGLE]
    if not choices:
        return no_choice("no album or other work comes first")
    return Ruling(choices, _earliest_reason(contest), (choices[0],))


Rule = Callable[[Contest], Ruling]

TABLE_VERSION = 8
"""Raise it whenever a rule decides differently; stored decisions are compared with it."""

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
"""The rules in order: the first one that fires decides.

A person's override precedes all of them (`decide`). If they decide nothing, a verified fact may
(`stated_premiere`).
"""

STATED_PREMIERE = "CRG:STATED_PREMIERE"


def stated_premiere(contest: Contest) -> Ruling:
    """Choose the record that a verified fact calls the first, unless a date contradicts it.

    A record that is certainly earlier contradicts it, and so does a sign that the recording was out
    before every record listed. A single is not chosen if a studio album may have come out within
    the lead window, because the fact does not say when the album came out.
    """
    stated = [record for record in contest.candidates if record.group.premiere and record.counts]
    if len(stated) != 1:
        return no_choice(f"verified facts call {len(stated) or 'no'} records the first")
    first = stated[0]
    for candidate in contest.candidates:
        if candidate.counts and candidate.is_dated and candidate.last < first.first:
            text = "{0.dated_name} is called the first, but {1.dated_name} is not later"
            return no_choice(text, first, candidate)
    if first.role is Role.SINGLE and not contest.intent:
        until = min([first.last, *(work.last for work in contest.works)])
        window = contest.settings.lead_window_days
        for album in contest.albums:
            if album.first - until <= window and album.last > first.first:
                text = "{0.dated_name} may be within the window after {1.name}"
                return no_choice(text, album, first)
    text = "a verified fact says that it first came out on {0.dated_name}"
    return Ruling([first], text, (first,), unlisted_original(contest, [first]))


class RuleResults(msgspec.Struct, frozen=True, eq=False):
    """The rulings of all rules on a contest, and what follows from them."""

    rulings: Sequence[tuple[str, Ruling]]
    possible: Sequence[Candidate]
    """The possible answers; only one if the unknown facts make no difference."""
    doubts: Sequence[DraftQuestion]

    @property
    def chosen(self) -> Candidate | None:
        """The decision, if there is one."""
        return self.possible[0] if len(self.possible) == 1 and not self.doubts else None


def apply_rules(contest: Contest) -> RuleResults:
    """Return the rulings of every rule, the possible answers and the doubts.

    A rule returns all candidates that it may choose, depending on the exact days of vague dates. If
    all rules together may choose only one candidate, it is the decision whatever the exact days
    are, and the first rule that may choose it is the one that fires.
    """
    rulings = [(code, rule(contest)) for code, rule in RULES]
    possible = _choices(rulings)
    doubts: dict[str, DraftQuestion] = {}
    unlisted = unlisted_original(contest, possible) if contest.firsts else ()
    for doubt in (*(doubt for _, ruling in rulings for doubt in ruling.doubts), *unlisted):
        doubts.setdefault(doubt.text, doubt)
    is_open = len(possible) != 1 or doubts
    if is_open and any(candidate.group.premiere for candidate in contest.candidates):
        ruling = stated_premiere(contest)
        rulings = [(STATED_PREMIERE, ruling), *rulings]
        if ruling.choices:
            return RuleResults(rulings, ruling.choices, ruling.doubts)
    return RuleResults(rulings, possible, list(doubts.values()))


def possible_answers(contest: Contest) -> Sequence[Candidate]:
    """Return the possible answers of the rules, without the doubts."""
    if any(candidate.group.premiere for candidate in contest.candidates):
        return apply_rules(contest).possible
    return _choices([(code, rule(contest)) for code, rule in RULES])


def _choices(rulings: Sequence[tuple[str, Ruling]]) -> Sequence[Candidate]:
    return [*{choice.id: choice for _, ruling in rulings for choice in ruling.choices}.values()]


def _earliest_reason(contest: Contest) -> str:
    """Return the reason why a work comes first, as a format string for its candidate."""
    if len(contest.works) > 1:
        of_dated = " and has a date" if contest.undated else ""
        return f"{{0.dated_name}} is the earliest official work that carries it{of_dated}"
    if contest.undated:
        return "{0.dated_name} carries it, and no other official work that does has a date"
    if contest.compilations:
        return "{0.dated_name} is the only official record that carries it, apart from compilations"
    return "{0.dated_name} carries it, and nothing else does officially"


def _days_between(candidate: Candidate, other: Candidate) -> str:
    least, most = other.first - candidate.last, other.last - candidate.first
    is_known = least == most or (candidate.since.is_known and other.since.is_known)
    return time_between(least, most) if is_known else "some time"


# Doubts about a compilation.


def _doubts_about(early: EarlyCompilation, contest: Contest) -> Iterator[DraftQuestion]:
    window = contest.settings.lead_window_days
    crg = early.candidate.id
    yield from contradictions(early.candidate, contest)
    if early.is_own is None:
        yield _ask_whose(early.candidate, contest)
    if early.is_own is False:
        text = (
            f"{early.candidate.dated_name} is by others, and every other record is more than"
            f" {window} days later: did it first come out there, or is the original missing?"
        )
        yield _ask_whether_first(text, early.candidate)
    if not early.is_alone:
        works = contest.works
        soundtracks = [work for work in works if work.is_dated and is_compilation(work.group)]
        last = early.candidate.last + window
        records = (*contest.dated_compilations, *soundtracks)
        near = [record for record in records if record.first <= last and record.id != crg]
        early_records = sorted([early.candidate, *near[:MAX_NAMED]], key=attrgetter("dated_name"))
        names = " or ".join(candidate.dated_name for candidate in early_records)
        yield DraftQuestion(
            "tie",
            f"which was the first, {names}? They came out, or may have, within {window} days",
            tuple(candidate.id for candidate in early_records),
            [*map(premiere_answer, early_records)],
        )


def _ask_whose(candidate: Candidate, contest: Contest) -> DraftQuestion:
    group = candidate.id
    owners = (("the artist's own", contest.artist.name), ("by others", "Various Artists"))
    answers = [
        (answer, [in_groups(set_fields(artist_credit=credit), (group,))])
        for answer, credit in owners
        if credit
    ]
    text = f"is {candidate.dated_name} the artist's own? No credit tells"
    return DraftQuestion("type", text, (group,), answers)


def _ask_whether_first(text: str, candidate: Candidate) -> DraftQuestion:
    return DraftQuestion("missing_original", text, (candidate.id,), [premiere_answer(candidate)])


def _undated_beside_only_one(contest: Contest) -> Iterator[DraftQuestion]:
    """Yield questions about dates if there are only compilations and only one is dated."""
    dated = contest.dated_compilations
    if contest.works or len(dated) > 1:
        return
    undated = [compilation for compilation in contest.compilations if not compilation.is_dated]
    for candidate, precursor in product(undated[:MAX_NAMED], dated):
        group, beside = candidate.id, precursor.id
        text = f"{candidate.name} has no date: did it come out before {precursor.dated_name}?"
        window = contest.settings.lead_window_days
        spans = [(2, True), (precursor.first - window, False), (precursor.last + window + 1, True)]
        answers: Sequence[Answer] = ()
        if precursor.last + window < LAST_DAY:
            answers = day_answers(group, spans, LAST_DAY, first_day_on_sale(candidate.official))
        yield DraftQuestion("date", text, (group, beside), answers)


def _no_compilation(contest: Contest, why: str) -> Ruling:
    """Return a ruling without choice; if there is no work, ask for the missing original."""
    if contest.works:
        return no_choice(why)
    first = min(contest.compilations, key=attrgetter("last", "title", "id"))
    is_one = len(contest.compilations) == 1
    carriers = "only a compilation carries" if is_one else "only compilations carry"
    if any(candidate.is_by_others for candidate in contest.compilations):
        carriers = "only records by others carry"
    text = f"{MISSING}: {carriers} it, the earliest {first.dated_name}"
    text = contest.bundle.with_possible_sibling(text)
    question = DraftQuestion("missing_original", text, (first.id,))
    return Ruling((), f"{carriers} it: {why}", doubts=(question,))
