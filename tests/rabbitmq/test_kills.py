"""What dies in mid-load loses nothing that was confirmed: small twins of the proofs."""

from collections.abc import Iterator

import pytest

from tests.rabbitmq.killing import close_channels, kill_broker, kill_worker, strike
from tests.servers.postgres import PrivatePostgres


@pytest.fixture(scope="module")
def server() -> Iterator[PrivatePostgres]:
    with PrivatePostgres() as pg:
        yield pg


def test_nothing_confirmed_is_lost_when_the_broker_is_killed(server: PrivatePostgres) -> None:
    report = strike(1, 300, kill_broker, server=server)
    assert not report.breaches
    assert report.accepted >= 300


def test_nothing_is_lost_when_channels_are_closed_under_load(server: PrivatePostgres) -> None:
    report = strike(5, 500, close_channels, server=server)
    assert not report.breaches


def test_nothing_is_lost_when_a_worker_is_killed(server: PrivatePostgres) -> None:
    report = strike(2, 400, kill_worker, server=server)
    assert not report.breaches
