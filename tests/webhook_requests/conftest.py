"""Roads that may call the loopback, and stands with receivers."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.ports.clock import SystemClock
from postroad.verbs.parts import Parts
from tests.events.conftest import pytest_pyfunc_call
from tests.webhook.conftest import LOCAL
from tests.webhook_requests.servers import Stand, TokenServer, serving

__all__ = ["pytest_pyfunc_call"]


class ShiftedClock(SystemClock):
    """Real time, and so many seconds more."""

    def __init__(self) -> None:
        super().__init__()
        self.shift_s = 0.0
        self.steady_s = lambda: monotonic() + self.shift_s

    def now_ms(self) -> int:
        """Return milliseconds since 1970."""
        return super().now_ms() + int(self.shift_s * 1000)


@pytest.fixture
def clock() -> ShiftedClock:
    """The road's clock: set `shift_s` while nothing runs."""
    return ShiftedClock()


@pytest.fixture
def road(tmp_path: Path, clock: ShiftedClock) -> Postroad:
    """Not open yet; tests with `async def` get it open."""
    parts = Parts(clock=clock)
    return Postroad(f"sqlite:///{tmp_path}/road.db", settings=Settings(webhooks=LOCAL), parts=parts)


@pytest.fixture
def stand() -> Iterator[Stand]:
    """A receiver without TLS."""
    with serving() as made:
        yield made


@pytest.fixture
def tokens() -> Iterator[TokenServer]:
    """A token server that knows one client, `ours`."""
    with serving() as made:
        yield TokenServer(made)
