"""What dies in mid-load loses nothing that was confirmed: small twins of the proofs."""

from collections.abc import Callable

import pytest

from tests.rabbitmq.killing import Stage, close_channels, kill_broker, kill_worker, strike
from tests.servers.postgres import PrivatePostgres
from tests.servers.rabbitmq import PrivateRabbit


@pytest.mark.parametrize(
    ("how", "blows", "messages"),
    [(kill_broker, 1, 200), (close_channels, 3, 250), (kill_worker, 1, 200)],
)
def test_nothing_confirmed_is_lost_and_repeats_are_what_was_not_known(
    how: Callable[[Stage], None],
    blows: int,
    messages: int,
    own_broker: PrivateRabbit,
    server: PrivatePostgres,
) -> None:
    report = strike(blows, messages, how, own_broker, server)
    assert report.breaches == []
    assert report.kills == blows
    assert report.accepted >= messages
