"""A contest is what the rules look at: the candidates in the running, and who may be the first."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY
from chart_binder.domain.evidence import Artist, RecordingCandidate
from chart_binder.rules.candidates import Candidate, candidates_of, hinted
from chart_binder.rules.earliest import Ties, may_be_first
from chart_binder.rules.forerunner import Forerunner, Precursors, forerunners, precursors, two_least
from chart_binder.rules.roles import Role, is_soundtrack

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
