"""The review page in a store of 100,000 decisions: `python tests/benchmarks/bench_page.py`.

One of 20 decisions waits. The server is a process; a request begins with its connection, and the
first case is asked for as soon as the address is printed. Medians of later requests follow.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.big_store import make_store

FIRST_S, WEIGHT = 0.3, 100_000
REPEATED = 15
FILES = ("style.css", "review.css", "review.js", "icon.svg")


class Browser:
    """Asks one server, with its cookie."""

    def __init__(self, address: str) -> None:
        self.address = urlsplit(address)
        self.headers = {"Sec-Fetch-Site": "same-origin"}

    def get(self, path: str) -> tuple[float, bytes, str]:
        """Return the seconds until the end of an answer, its body, and where it leads."""
        began = time.perf_counter()
        connection = HTTPConnection(self.address.netloc, timeout=60)
        connection.request("GET", path, headers=self.headers)
        response = connection.getresponse()
        body = response.read()
        seconds = time.perf_counter() - began
        if cookie := response.headers["Set-Cookie"]:
            self.headers["Cookie"] = cookie.partition(";")[0]
        return seconds, body, response.headers["Location"] or ""

    def median(self, path: str) -> float:
        """Return the median of several requests in seconds."""
        return statistics.median(self.get(path)[0] for _ in range(REPEATED))


def measure(process: "subprocess.Popen[str]", began: float) -> int:
    """Print the figures of a server; return 1 if one is over its limit."""
    assert process.stdout
    address = process.stdout.readline().strip()
    print(f"the address is printed after {time.perf_counter() - began:.2f} s")
    browser = Browser(address)
    opened = browser.get(f"{browser.address.path}?{browser.address.query}")[0]
    leads, _, case = browser.get("/")
    shown, page, _ = browser.get(case)
    first = opened + leads + shown
    weight = len(page) + sum(len(browser.get(f"/static/{name}")[1]) for name in FILES)
    print(f"first case {first * 1000:.0f} ms, of which its page {shown * 1000:.0f} ms")
    whole, queue, _ = browser.get("/queue?sort=artist")
    count = re.search(rb"([0-9,]+) cases", queue)
    print(f"whole queue of {count and count[1].decode()} sorted after {whole:.2f} s more")
    for name, path in (("case", case), ("queue", "/queue"), ("filter", "/queue?artist=queen")):
        print(f"then a {name}: {browser.median(path) * 1000:.0f} ms")
    print(f"a case with style sheets and script: {weight} bytes")
    return int(first > FIRST_S or weight > WEIGHT)


def main() -> int:
    """Make the store, and measure the server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=20, help="one of these waits")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = make_store(Path(folder), arguments.decisions, arguments.every)
        settings = {"CANON_STORE__URL": f"sqlite:///{store}", "HOME": folder}
        call = [sys.executable, "-m", "chart_binder", "review", "--web", "--no-open"]
        began = time.perf_counter()
        with subprocess.Popen(
            call, env=os.environ | settings, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                return measure(process, began)
            finally:
                process.terminate()


if __name__ == "__main__":
    sys.exit(main())
