"""How often other ways to a first year are right on the golden cases of a certain year.

Run: python tests/benchmarks/compare_dates.py

The other programs are not run. What each takes for the first year was read in its source (Picard
2.13, beets 2.14.1, beets-oldestdate 1.1.4, beets-yearfixer 0.0.5), and is applied to the releases
of each case. That is the best that the two plug-ins could do: they also count other performances
of the song, which the cases do not list.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate
from chart_binder.jobs.evaluate import GoldenCase, read_golden
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release

GOLDEN = Path(__file__).parents[1] / "golden" / "decisions.jsonl"
RULES = RulesConfig()
UNKNOWN = ""


def release_years(recording: RecordingCandidate) -> Iterator[str]:
    """Yield the year of each dated release of a recording, whatever its status."""
    for group in recording.rg_candidates or ():
        yield from (release.date[:4] for release in group.releases or () if release.date)


def of_the_recording(bundle: EvidenceBundle) -> list[str]:
    """Return MusicBrainz's own first year of the recording: of all its releases, also bootlegs."""
    recording = next(r for r in bundle.recording_candidates if not r.is_sibling)
    if recording.first_release_date:
        return [recording.first_release_date[:4]]
    return [min(release_years(recording), default=UNKNOWN)]


def of_the_album_in_hand(bundle: EvidenceBundle) -> list[str]:
    """Return the first year of the release group, for each release that may be tagged."""
    recording = next(r for r in bundle.recording_candidates if not r.is_sibling)
    years = []
    for group in recording.rg_candidates or ():
        dates = [release.date for release in group.releases or () if release.date]
        first = group.first_release_date or min(dates, default=UNKNOWN)
        years += [first[:4]] * len(group.releases or ())
    return years or [UNKNOWN]


def of_all_recordings(bundle: EvidenceBundle) -> list[str]:
    """Return the year of the earliest release, of any status, of all recordings of the case."""
    years = (year for r in bundle.recording_candidates for year in release_years(r))
    return [min(years, default=UNKNOWN)]


def of_canon(bundle: EvidenceBundle) -> list[str]:
    """Return the year if the rules are certain of it."""
    first = first_release(bundle, decide(bundle, RULES), RULES)
    return [first.date[:4] if first and first.year_certain else UNKNOWN]


WAYS: dict[str, Callable[[EvidenceBundle], list[str]]] = {
    "first date of the album in hand (Picard, beets original_year)": of_the_album_in_hand,
    "MusicBrainz's own first date of the recording": of_the_recording,
    "earliest release of any recording (oldestdate, yearfixer)": of_all_recordings,
    "canon, if it is certain": of_canon,
}


def main() -> None:
    """Print a row for each way: right, wrong and unknown, in percent of the cases."""
    with GOLDEN.open("rb") as lines:
        cases = [case for case in read_golden(lines) if isinstance(case, GoldenCase)]
    dated = [(case.bundle, year) for case in cases if (year := certain_year(case))]
    print(f"{len(dated)} cases\n{'':63}right  wrong  unknown")
    for name, years_of in WAYS.items():
        right = wrong = 0.0
        for bundle, year in dated:
            years = years_of(bundle)
            right += years.count(year) / len(years)
            wrong += sum(other not in (year, UNKNOWN) for other in years) / len(years)
        shares = (right, wrong, len(dated) - right - wrong)
        print(f"{name:63}" + "  ".join(f"{share / len(dated):5.0%}" for share in shares))


def certain_year(case: GoldenCase) -> str | None:
    """Return the expected year of a case, if it is certain."""
    first = case.expected.first_release
    return first.date[:4] if first and first.year_certain and first.date else None


if __name__ == "__main__":
    main()
