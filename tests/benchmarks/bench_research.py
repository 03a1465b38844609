"""What code's search for facts costs an observation: `python tests/benchmarks/bench_research.py`.

Twelve pages, as many as a run opens, each with as much text as an observation shows of one, stand
in a run. Each time their documents are made anew, as after an observation. Beside the milliseconds
stands a ratio to finding the dates alone, without asking what they are about. Limit: 100 ms.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.dates_in_text import find_dates
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.llm.open_case import OpenCase
from chart_binder.llm.research import Research, remark_on
from chart_binder.react.steps import Document
from chart_binder.rules.labels import Labels
from chart_binder.web.documents import SourceText
from golden.bundles import year_only_single

LIMIT_MS, PAGES, CHARS, ROUNDS = 100.0, 12, 3_000, 15
LINES: dict[str, Callable[[int], str]] = {
    "prose without dates": lambda _: "The band had toured for a year when the tapes were found.",
    "prose, a date in two lines": lambda n: (
        f"Bohemian Rhapsody was released as a single on {n % 28 + 1} October 1975 in Spain."
        if n % 2
        else "Radio did not care for a song of six minutes, until a friend played it."
    ),
    "rows, a date a row": lambda n: f"Bohemian Rhapsody | Queen | EMI | {n % 28 + 1} March 1976",
    "a discography": lambda n: f"- {1960 + n % 60}-0{n % 9 + 1}-11: Song {n} (single, EMI)",
}


def documents(name: str) -> list[SourceText]:
    """Return the pages of a run, none of which was looked at before."""
    SourceText.of.cache_clear()
    pages = []
    for page in range(PAGES):
        lines = [f"Bohemian Rhapsody by Queen, page {page}"]
        while sum(map(len, lines)) < CHARS:
            lines.append(LINES[name](len(lines) + page))
        address = f"https://site{page}.example/bohemian-rhapsody"
        text = "\n".join(lines)
        document = Document(address, "Bohemian Rhapsody", text=text, is_fetched=True)
        pages.append(document)
    return [SourceText.of(page) for page in pages]


def milliseconds(name: str, work: Callable[[Sequence[SourceText]], object]) -> float:
    """Return the median of several rounds over pages of a kind."""
    rounds = []
    for _ in range(ROUNDS):
        pages = documents(name)
        started = time.process_time()
        work(pages)
        rounds.append(1_000 * (time.process_time() - started))
    return median(rounds)


def main() -> int:
    """Print a line for each kind of page; return 1 if one takes more than the limit."""
    bundle = read_bundle(year_only_single())
    case = OpenCase(bundle, Labels.of(bundle), RulesConfig(), LLMConfig())
    slow = 0
    for name in LINES:
        searched = milliseconds(name, lambda pages: remark_on(Research(case, pages), ()))
        alone = milliseconds(name, lambda pages: [find_dates(page.text) for page in pages])
        print(f"{name:26} {searched:7.1f} ms, {searched / alone:5.1f} times finding the dates")
        slow += searched > LIMIT_MS
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
