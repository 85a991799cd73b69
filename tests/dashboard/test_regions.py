"""How long a region is shown as it was."""

import asyncio
from itertools import pairwise
from typing import Any, cast

import pytest
from msgspec.structs import replace

from postroad.dashboard.keeping import Keeper
from postroad.dashboard.paging import FRESH_S, PageView, Region, WebPage, refusal
from postroad.dashboard.regions import REST_MAX_S, SHARE, Regions
from postroad.model.tokens import Caller
from tests.contract.clock import ManualClock

WHO = Caller("default", frozenset(), "a")
NOTHING = cast("Any", None)
VIEW = PageView(NOTHING, NOTHING, NOTHING, WHO, "/", {})


@pytest.mark.parametrize(
    ("refused", "fresh_s", "kept_s"),
    [
        ("", FRESH_S, REST_MAX_S),
        ("", 30.0, 30.0),
        ("not now", FRESH_S, FRESH_S),
        ("not now", 30.0, FRESH_S),
    ],
)
async def test_a_slow_region_is_not_kept_for_long(
    refused: str, fresh_s: float, kept_s: float
) -> None:
    clock, loads = ManualClock(), []

    async def load(_: PageView) -> dict[str, Any]:
        loads.append(clock.now_ms())
        clock.advance(30)
        if refused:
            raise refusal(refused)
        return {"jobs": []}

    region, regions = Region("jobs", load, fresh_s=fresh_s), Regions(clock, Keeper(clock))
    page = WebPage("dead", "/dead", "Dead set", (region,))
    for seconds, count in ((0.0, 1), (kept_s - 0.1, 1), (0.1, 2)):
        clock.advance(seconds)
        await regions.get(page, region, VIEW)
        assert len(loads) == count


def stand(clock: ManualClock, took_s: float) -> tuple[list[int], Regions, WebPage]:
    """A page with a region that takes so long, and when it was loaded."""
    loads: list[int] = []

    async def load(_: PageView) -> dict[str, Any]:
        loads.append(clock.now_ms())
        await asyncio.sleep(0)  # others come meanwhile
        clock.advance(took_s)
        return {"jobs": []}

    return (
        loads,
        Regions(clock, Keeper(clock)),
        WebPage("dead", "/dead", "Dead set", (Region("jobs", load),)),
    )


async def test_one_look_serves_all_who_look_with_the_same_rights() -> None:
    clock = ManualClock()
    loads, regions, page = stand(clock, 0.001)
    (region,) = page.regions
    views = [replace(VIEW, who=replace(WHO, token=f"t{n}")) for n in range(50)]
    await asyncio.gather(*(regions.get(page, region, view) for view in views))
    assert len(loads) == 1
    other = replace(VIEW, who=replace(WHO, tenant="acme"))
    await asyncio.gather(*(regions.get(page, region, view) for view in (*views, other)))
    assert len(loads) == 2  # another tenant sees something else
    clock.advance(FRESH_S)
    await asyncio.gather(*(regions.get(page, region, view) for view in views))
    assert len(loads) == 3


async def test_a_slow_region_is_asked_for_less_often() -> None:
    clock = ManualClock()
    took_s = 0.02
    loads, regions, page = stand(clock, took_s)
    (region,) = page.regions
    for _ in range(1_000):
        await regions.get(page, region, VIEW)
        clock.advance(0.1)
    shortest_s = min(later - one for one, later in pairwise(loads)) / 1000
    assert shortest_s >= took_s * SHARE


async def test_what_was_being_shown_when_something_changed_is_shown_anew() -> None:
    clock = ManualClock()
    loads, _, page = stand(clock, 0.01)
    (region,), keeper = page.regions, Keeper(clock)
    regions = Regions(clock, keeper)
    looking = asyncio.ensure_future(regions.get(page, region, VIEW))
    await asyncio.sleep(0)  # it has begun to load
    keeper.forget()
    await looking
    await regions.get(page, region, VIEW)
    assert len(loads) == 2
