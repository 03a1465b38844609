"""One process that fetches, for all hostile tests of a worker."""

from collections.abc import Iterator

import pytest

from hostile.harness import Measuring


@pytest.fixture(scope="session")
def fetch() -> Iterator[Measuring]:
    with Measuring() as process:
        yield process
