"""Four workers, one killed with -9 every few seconds: nothing is lost, order is kept."""

import pytest

from tests.crash.killing import Report
from tests.fleet.killing import KILLS_MIN, SMALL, check_lanes, kill_fleet
from tests.fleet.words import Line

MESSAGES = 500


def test_a_fleet_survives_kills(dsn: str) -> None:
    report = kill_fleet(dsn, MESSAGES, every_s=0.8, send_s=3.0, order=SMALL)
    assert report.breaches == []
    assert report.accepted == MESSAGES
    assert report.repeats <= report.cut
    # The test itself had something to look at.
    assert report.kills >= KILLS_MIN
    assert report.in_flight > 0


# The check itself: it is shown a breach, and must name it.

ONE = Line("start", "m1", attempt=1, worker="w1", lane="box#1")
OTHER = Line("start", "m2", attempt=1, worker="w2", lane="box#1")
ONE_DONE = Line("done", "m1", attempt=1, worker="w1", lane="box#1")


@pytest.mark.parametrize(
    ("lines", "breaches"),
    [
        ([ONE, OTHER], 1),
        ([ONE, ONE_DONE, OTHER], 0),
        ([ONE, Line("killed", worker="w1"), OTHER], 0),
        ([ONE, Line("killed", worker="w3"), OTHER], 1),
    ],
)
def test_two_workers_on_one_lane_are_named(lines: list[Line], breaches: int) -> None:
    report = Report()
    check_lanes(lines, report)
    assert len(report.breaches) == breaches
