"""What dies in mid-load loses nothing that was confirmed: small twins of the proofs."""

from collections.abc import Callable

import pytest

from tests.fleet.words import Line
from tests.rabbitmq.killing import Stage, close_channels, doubled, kill_broker, kill_worker, strike
from tests.servers.postgres import PrivatePostgres
from tests.servers.rabbitmq import PrivateRabbit


@pytest.mark.parametrize(
    ("how", "blows", "messages"),
    [
        pytest.param(kill_broker, 1, 100, marks=pytest.mark.wide),
        pytest.param(close_channels, 2, 120, marks=pytest.mark.wide),
        (kill_worker, 1, 100),
    ],
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


def told(word: str, attempt: int, worker: str, note: str = "", lane: str = "flaky#1") -> Line:
    return Line(word, "m1", attempt=attempt, worker=worker, note=note, lane=lane)


@pytest.mark.parametrize(
    ("note", "lane", "times"),
    [("failed", "flaky#1", 2), ("ok", "flaky#1", 0), ("failed", "box#1", 0)],
)
def test_only_retries_of_a_failure_that_was_not_noted_may_come_twice(
    note: str, lane: str, times: int
) -> None:
    missed = told("start", 1, "w1", lane=lane)
    rest = [told("start", *one, lane=lane) for one in ((1, "w2"), (2, "w3"), (2, "w2"), (3, "w3"))]
    assert doubled([missed], [missed, told("done", 1, "w1", note, lane), *rest])["m1"] == times
    assert doubled([missed], [missed, *rest]) == {}  # it had not ended: there was no next copy
