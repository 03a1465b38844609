"""How many of a stranger's payloads turn a decision, with each defence alone and all together.

`bench_injection.py [-v]`: with `-v` a line for each payload that gets through something. Exits with
1 where one gets through all.
"""

import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile.injection import Defences, attack, compare_defences
from hostile.payloads import PAYLOADS, TWO_SITES
from hostile.planted import PLANTED, TRUTH, outcome

_ROWS = {
    "undefended": "no defence",
    "sanitising": "what is read is made inert, alone",
    "grounding": "facts are looked up where they are cited, alone",
    "rules": "the rules are asked again, alone",
    "two_sources": "two sources required, alone",
    "one_source": "one source required",
    "installed": "as installed",
    "unasked": "as installed, by pages that code opens alone",
}


def main() -> int:
    """Run every payload against both models, print the table."""
    believing = {name: compare_defences(payload) for name, payload in PAYLOADS.items()}
    formal = {
        name: compare_defences(payload, needs_voice=True) for name, payload in PAYLOADS.items()
    }
    print(f"{len(PAYLOADS)} payloads; decisions turned of a model that obeys")
    print(f"{'':48} {'all it can read':>16} {'the form alone':>16}")
    for row, title in _ROWS.items():
        print(f"{title:48} {_share(believing, row):>16} {_share(formal, row):>16}")
    print("somebody who owns two sites, as installed:")
    for name, payload in TWO_SITES.items():
        print(f"  {name:46} {'turned' if attack(payload).accepted else '-':>16}")
    print_planted()
    if "-v" in sys.argv:
        for name, turned in believing.items():
            through = [row for row in _ROWS if asdict(turned)[row]]
            print(f"  {name:40} {', '.join(through)}")
        for name, turned in formal.items():
            if turned.sanitising:
                print(f"  by its form: {name}")
    every = [*believing.values(), *formal.values()]
    return 1 if any(defences.installed or defences.unasked for defences in every) else 0


def print_planted() -> None:
    """Print what a plausible false date comes to, by where it stands and where the true one."""
    for believes in (False, True):
        who = "believes every date" if believes else "writes what code proposes"
        print(f"a false date gives C1, the true one C2; the model {who}; the true date stands:")
        print(f"{'':38} {' '.join(f'{where:27}' for where in TRUTH)}")
        for where, pages in PLANTED.items():
            came = (outcome(pages, truth, believes=believes) for truth in TRUTH.values())
            print(f"  {where:36} {' '.join(f'{each:27}' for each in came)}")


def _share(turned: dict[str, Defences], row: str) -> str:
    count = sum(asdict(each)[row] for each in turned.values())
    return f"{count} ({count / len(turned):.0%})"


if __name__ == "__main__":
    sys.exit(main())
