"""One process that fetches, for all hostile tests of a worker."""

from collections.abc import Iterator

import pytest

from hostile.measuring import Measuring


@pytest.fixture(scope="session")
def measuring() -> Iterator[Measuring]:
    with Measuring() as process:
        yield process
