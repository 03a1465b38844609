"""Types are read by many threads at once, from the first time on."""

import subprocess
import sys

import pytest

RACE = """
import sys, threading
from chart_binder.files import convert_json
from chart_binder.musicbrainz.web_service import Metadata
sys.setswitchinterval(1e-6)
begin = threading.Event()
found = []
def read():
    begin.wait()
    for _ in range(200):
        found.append(convert_json({"release-count": 3}, Metadata).release_count)
threads = [threading.Thread(target=read) for _ in range(6)]
for thread in threads: thread.start()
begin.set()
for thread in threads: thread.join()
assert found == [3] * 1200, len(found)
"""


@pytest.mark.parametrize("attempt", range(4))
def test_a_type_that_many_threads_read_first_at_once_ends_no_process(attempt: int) -> None:
    del attempt
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
