"""What dies in mid-load loses nothing that was confirmed: small twins of the proofs."""

from collections.abc import Callable, Iterator

import pytest

from tests.rabbitmq.killing import Stage, close_channels, kill_broker, kill_worker, strike
from tests.servers.postgres import PrivatePostgres
from tests.servers.rabbitmq import ELSEWHERE, UNSTUCK, PrivateRabbit


@pytest.fixture(scope="module")
def server() -> Iterator[PrivatePostgres]:
    with PrivatePostgres() as pg:
        yield pg


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateRabbit]:
    """A new broker, that may be struck."""
    monkeypatch.delenv(ELSEWHERE, raising=False)
    with PrivateRabbit(UNSTUCK) as own:
        yield own


@pytest.mark.parametrize(
    ("how", "blows", "messages"),
    [(kill_broker, 1, 200), (close_channels, 3, 250), (kill_worker, 1, 200)],
)
def test_nothing_confirmed_is_lost_and_repeats_are_what_was_not_known(
    how: Callable[[Stage], None],
    blows: int,
    messages: int,
    ours: PrivateRabbit,
    server: PrivatePostgres,
) -> None:
    report = strike(blows, messages, how, ours, server)
    assert report.breaches == []
    assert report.kills == blows
    assert report.accepted >= messages
