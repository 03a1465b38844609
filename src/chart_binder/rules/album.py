"""A single that leads to an album stands for the album."""

from collections.abc import Sequence

from chart_binder.rules.candidates import Candidate
from chart_binder.rules.contest import Contest
from chart_binder.rules.roles import Role
from chart_binder.rules.ruling import Ruling, passes


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
