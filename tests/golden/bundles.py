"""Golden decisions as evidence to change at will, and far too much of everything."""

import copy
import json
from pathlib import Path
from typing import Any

from rules.making import document, recording, records

_FILE = Path(__file__).parent / "decisions.jsonl"
CASES = {case["id"]: case for case in map(json.loads, _FILE.read_text("utf-8").splitlines())}

Bundle = dict[str, Any]


def golden(name: str) -> Bundle:
    """Return a copy of a golden bundle."""
    bundle: Bundle = copy.deepcopy(CASES[name]["bundle"])
    return bundle


def year_only_single() -> Bundle:
    """Return Bohemian Rhapsody with its single dated by the year alone: the rules cannot tell."""
    bundle = golden("lead-bohemian")
    single = bundle["recording_candidates"][0]["rg_candidates"][0]
    single["first_release_date"] = single["releases"][0]["date"] = "1975"
    return bundle


def crowd(groups: int = 100, releases: int = 10) -> Bundle:
    """Return evidence with many groups of many releases, most of them compilations."""
    return {
        "artist": {"name": "A", "begin_area_country": "GB"},
        "recording_title": "T",
        "recording_candidates": [
            {
                "mb_recording_id": "recording",
                "rg_candidates": [
                    {
                        "mb_rg_id": f"group-{g}",
                        "title": f"Record {g}",
                        "primary_type": "Album",
                        "secondary_types": ["Compilation"] if g % 5 else [],
                        "releases": [
                            {
                                "mb_release_id": f"release-{g}-{r}",
                                "title": f"Record {g}",
                                "date": f"{1970 + g % 50}-0{1 + r % 9}",
                                "country": ("GB", "US", "DE", "JP")[r % 4],
                                "status": "Official",
                                "label": "Label",
                                "catno": f"CAT {g} {r}",
                                "format": '12" Vinyl',
                            }
                            for r in range(releases)
                        ],
                    }
                    for g in range(groups)
                ],
            }
        ],
    }


def two_recordings() -> Bundle:
    """Return two recordings that came out on different records: the file may hold either."""
    mono = records("S single 1974-10-11; C compilation 1979-10")
    stereo = records("A album 1976-11-08; C compilation 1979-10")
    return document(
        recording(*mono, mb_recording_id="first", length_ms=180_000, disambiguation="mono"),
        recording(*stereo, mb_recording_id="second", length_ms=184_000, disambiguation="stereo"),
    )


def unknown_statuses() -> Bundle:
    """Return records whose releases are unofficial or of unknown status, some before the rest."""
    early = "A album 1979/unknown 1985; S single 1980 1979-12-01/promo; L live 1976/bootleg"
    late = ";".join(f"C{n} compilation {1981 + n // 2}" for n in range(67))
    return document(recording(*records(f"{early}; {late}")))


RENDERED: dict[str, Bundle] = {
    "year-only-single": year_only_single(),
    "many-editions": golden("pf-time"),
    "many-compilations": golden("s90-amuro"),
    "promo-and-bootleg": golden("comp-savage"),
    "two-recordings": two_recordings(),
    "unknown-statuses": unknown_statuses(),
    "crowd": crowd(),
}
"""The bundles whose markdown is held by `tests/llm/golden/NAME.md`."""
