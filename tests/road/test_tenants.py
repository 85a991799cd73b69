"""Tenants are fair: one with thousands of dead addresses does not hold up another."""

from pathlib import Path

import pytest

from postroad.engine import capacity, lane_claims
from postroad.engine.busy_lanes import BusyLanes
from postroad.model.limits import Limits
from tests.road.crowding import real_wait_s, simulated_wait_s
from tests.road.neighbours import BACKLOG, BROKEN, real_times, simulated_p99_ms
from tests.servers.postgres import PrivatePostgres

LANES = 1_000


def test_a_message_beside_dead_lanes_of_another_tenant_starts_within_a_second() -> None:
    assert simulated_wait_s(LANES) < 1


def test_otherwise_lanes_that_one_tenant_has_claimed_hold_up_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BusyLanes, "tenants_at_limit", lambda _crowd: [])
    monkeypatch.setattr(lane_claims, "BUSY_MAX", 1)
    assert simulated_wait_s(LANES, most_s=10) > 10


def test_otherwise_sends_in_flight_of_one_tenant_hold_up_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(capacity, "share", lambda most, others: most - others)
    assert simulated_wait_s(LANES, most_s=4) > 4


def test_it_starts_while_every_try_of_the_other_tenant_hangs_on_sqlite(
    tmp_path: Path,
) -> None:
    assert real_wait_s(f"sqlite:///{tmp_path}/road.db", LANES, most_s=60) is not None


def test_it_starts_while_every_try_of_the_other_tenant_hangs_on_postgres(
    server: PrivatePostgres,
) -> None:
    assert real_wait_s(server.create_road(), LANES, most_s=60) is not None


def test_otherwise_it_waits_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "share", lambda most, others: most - others)
    assert real_wait_s(f"sqlite:///{tmp_path}/road.db", LANES, most_s=1) is None


@pytest.mark.parametrize("trouble", [BACKLOG, BROKEN])
def test_one_tenants_messages_are_not_late_beside_another_in_trouble(
    trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In simulated time, where only waiting for others counts; then without the guard."""
    size, limits = {BACKLOG: (3_000, Limits()), BROKEN: (500, Limits(in_flight_max=256))}[trouble]
    calm_ms = simulated_p99_ms("", 0, limits=limits)
    assert simulated_p99_ms(trouble, size, limits=limits) <= max(1, 1.5 * calm_ms)
    monkeypatch.setattr(capacity, "share", lambda most, others: most - others)
    assert simulated_p99_ms(trouble, size, most_s=10, limits=limits) > 1_000


@pytest.mark.wide  # the small twin of `make proof ITEM=neighbours`: ten seconds of waiting
def test_a_messages_delay_beside_a_backlog_is_measured_really() -> None:
    times, noise = real_times(BACKLOG, 500, 1, lambda path: f"sqlite:///{path}.db", count=20)
    print(f"{times:.2f} times, calm over calm {noise:.2f}")  # noqa: T201 - a machine's noise is no bar
    assert times > 0
    assert noise > 0
