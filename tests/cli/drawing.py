"""Evidence drawn as timelines, by the names of their golden files.

`PYTHONPATH=tests python tests/cli/drawing.py` draws the files anew; read the difference.
"""

from pathlib import Path

from chart_binder.cli.decision_text import timeline_lines
from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided
from chart_binder.jobs.explain import appearances, lead_window
from chart_binder.rules.decide import decide
from golden.bundles import golden
from rules.making import document, record, recording, records

KNOBS = RulesConfig()


def evidence(text: str) -> EvidenceBundle:
    """Evidence of one recording on the records of a text, as `rules.making.records` reads it."""
    return read_bundle(document(recording(*records(text))))


DRAWN: dict[str, EvidenceBundle] = {
    "lead": read_bundle(golden("lead-bohemian")),
    "promo-and-wide-letters": read_bundle(golden("lead-kessoku")),
    "the-groups-own-date": read_bundle(golden("lead-slts")),
    "album-after-the-window": read_bundle(golden("s90-amuro")),
    "year-only-single": evidence("S single 1975; A album 1975-11-21; C compilation 1981-11-02"),
    "month-of-the-album": evidence("S single 1974-10-11; A album 1974-11; L live 1979"),
    "undated": evidence("A album 1974-11-08; V various undated; B album undated; X single group:"),
    "nothing-dated": evidence("A album undated; B album undated"),
    "bootlegs-only": evidence("A album 2008/bootleg undated/bootleg; B album undated/promo"),
    "live": read_bundle(document(recording(*records("L live 1974-12 1974"), title="Song (live)"))),
    "nothing": read_bundle(document()),
    "crowd": read_bundle(
        document(
            recording(*(record(f"G{n}", "Album", f"{1950 + n}-0{n % 9 + 1}") for n in range(70)))
        )
    ),
}


def drawn(bundle: EvidenceBundle, width: int = 100) -> list[str]:
    """Draw the timeline of a bundle, with what the rules choose."""
    verdict = decide(bundle, KNOBS)
    chosen = verdict.crg if isinstance(verdict, Decided) else None
    return list(timeline_lines(appearances(bundle), lead_window(bundle, KNOBS), chosen, width))


if __name__ == "__main__":
    for name, bundle in DRAWN.items():
        text = "".join(f"{line}\n" for line in drawn(bundle))
        (Path(__file__).parent / "timelines" / f"{name}.txt").write_text(text, encoding="utf-8")
