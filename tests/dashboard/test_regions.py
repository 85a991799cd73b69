"""How long a region is shown as it was."""

from typing import Any, cast

import pytest

from postroad.dashboard.paging import PageView, Region, WebPage, refusal
from postroad.dashboard.regions import FRESH_S, STALE_S, Regions
from postroad.model.tokens import Caller
from tests.contract.clock import ManualClock

WHO = Caller("default", frozenset(), "a")
VIEW = PageView(cast("Any", None), cast("Any", None), WHO, "/", {})


@pytest.mark.parametrize(("refused", "kept_s"), [("", STALE_S), ("not now", FRESH_S)])
async def test_a_slow_region_is_not_kept_for_long(refused: str, kept_s: float) -> None:
    clock, loads = ManualClock(), []

    async def load(_: PageView) -> dict[str, Any]:
        loads.append(clock.now_ms())
        clock.advance(30)
        if refused:
            raise refusal(refused)
        return {"jobs": []}

    region, regions = Region("jobs", load), Regions(clock)
    page = WebPage("dead", "/dead", "Dead set", (region,))
    for seconds, count in ((0.0, 1), (kept_s - 0.1, 1), (0.1, 2)):
        clock.advance(seconds)
        await regions.get(page, region, VIEW)
        assert len(loads) == count
