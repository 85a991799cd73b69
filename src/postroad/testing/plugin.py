"""A pytest plugin: the fixture `road`, on a temporary file, in simulated time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postroad.testing.rehearsal import Rehearsal


@pytest.fixture
def road(tmp_path: Path) -> Iterator[Rehearsal]:
    """A road of this test's own. `road.send` stores, `road.deliver_all()` and
    `road.advance(seconds)` deliver, `road.assert_sent(queue, body)` checks."""
    with Rehearsal(tmp_path / "road.db") as rehearsal:
        yield rehearsal
