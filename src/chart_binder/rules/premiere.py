"""The earliest work is where a recording came out; which rule says so depends on what it is."""

from collections.abc import Sequence

from chart_binder.rules.candidates import Candidate
from chart_binder.rules.compilation import contradictions
from chart_binder.rules.contest import Contest
from chart_binder.rules.roles import Role, gathers, is_soundtrack
from chart_binder.rules.ruling import Ruling, passes


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
