"""Figures of the fleet over HTTP: whose they are, and what is refused."""

import pytest

from postroad.model.outcome import Kind
from postroad.model.rollup import KINDS, LATE, WIDTH, Rollup, Step
from tests.api.stand import Stand, kind


async def counted(stand: Stand) -> int:
    """Ten deliveries of one tenant and five of another, in the last complete buckets."""
    now_ms = stand.road.store.clock.now_ms()
    rows = []
    for tenant, family, count in (("acme", "handler:a", 10), ("globex", "handler:g", 5)):
        counts = [0] * WIDTH
        counts[KINDS.index(Kind.delivered)] = counts[LATE + 3] = count
        rows += [
            Rollup(Step.ten_seconds, Step.ten_seconds.start_of(now_ms - 20_000), tenant, family, "", counts),
            Rollup(Step.hour, Step.hour.start_of(now_ms), tenant, family, "q", counts),
        ]  # fmt: skip
    await stand.road.store.add_rollups(rows)
    return now_ms


def names(said: object) -> dict[str, int]:
    points = said["points"]  # type: ignore[index]
    return {point["name"]: point["tries"]["delivered"] for point in points}


async def test_a_tenants_token_sees_the_figures_of_its_tenant_only(stand: Stand) -> None:
    await counted(stand)
    acme = (await stand.road.tokens.make("a", tenant="acme")).secret
    for query in ({"by": "family"}, {"by": "tenant"}, {"by": "queue", "step": "1h"}):
        said = (await stand.say("GET", "/v1/rollups", query=query, token=acme)).json()
        assert list(names(said).values()) == [10], query
    stats = (await stand.say("GET", "/v1/stats", token=acme)).json()
    assert stats["minute"]["tries"] == stats["hour"]["tries"] == {"delivered": 10}
    assert stats["minute"]["tries_per_second"] == pytest.approx(10 / 60)
    assert (stats["minute"]["late_p50_ms"], stats["minute"]["late_p99_ms"]) == (6, 8)
    assert (await stand.say("GET", "/v1/stats")).json()["minute"]["tries"] == {}
    workers = await stand.say("GET", "/v1/workers", token=acme)
    assert (workers.status, kind(workers)) == (403, "forbidden")
    said = (await stand.say("GET", "/v1/rollups", query={"by": "tenant"})).json()
    assert names(said) == {"acme": 10, "globex": 5}
    assert (await stand.say("GET", "/v1/workers")).json()["workers"] == []


async def test_metrics_show_the_fleet_without_naming_anybody(stand: Stand) -> None:
    await counted(stand)
    text = (await stand.say("GET", "/metrics", token="")).content.decode()
    assert 'postroad_fleet_tries_per_second{outcome="delivered"} 0.25' in text
    assert 'postroad_fleet_lateness_seconds{quantile="0.99"} 0.008' in text
    assert 'postroad_fleet_workers{state="lost"} 0.0' in text
    assert "acme" not in text


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"step": "5s"}, "step"),
        ({"by": "color"}, "by"),
        ({"by": "queue"}, "give step=1h"),
        ({"names": "101"}, "names"),
        (
            {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
            "the earlier time as since",
        ),
        ({"since": "2026-01-01T00:00:00Z"}, "buckets apart"),
        ({"since": "0001-01-01T00:00:00Z", "step": "1h"}, "buckets apart"),
        ({"since": "2026-01-01T00:00:00"}, "timezone"),
        ({"since": "yesterday"}, "since"),
        ({"from": "2026-01-01T00:00:00Z"}, "there is no such parameter"),
    ],
)
async def test_a_question_that_makes_no_sense_is_refused_by_name(
    stand: Stand, query: dict[str, object], says: str
) -> None:
    answer = await stand.say("GET", "/v1/rollups", query=query)
    assert answer.status == 400
    assert says in answer.json()["detail"]
