"""Regions of pages, rendered once for all who look at the same, and told when they are stale."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from hashlib import sha256
from typing import Final

import msgspec
from markupsafe import Markup
from msgspec import Struct

from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.keeping import Keeper
from postroad.dashboard.paging import FRESH_S, PageView, Region, WebPage
from postroad.dashboard.rendering import render
from postroad.ports.clock import Clock

SHARE: Final = 300
"""One that took long to render is left alone for so many times as long, but not for longer than
this; six of the overview, the most on a page, cost a core two percent at most:"""
REST_MAX_S: Final = 10.0
LOOK_S: Final = 0.5
HEARTBEAT_S: Final = 10.0


class Rendered(Struct, frozen=True):
    """A region as it was rendered last."""

    html: Markup
    tag: str
    status: int = 200
    """What a page is answered with that has it: as the API answered."""


class Regions:
    """Renders regions, and keeps each for a moment."""

    def __init__(self, clock: Clock, keeper: Keeper) -> None:
        self._clock = clock
        self._keeper = keeper

    async def get(self, page: WebPage, region: Region, view: PageView) -> Rendered:
        """A region as it is now, or was a moment ago."""
        whose = (view.rights, view.who.token if region.personal else "")
        key = (page.name, region.name, view.here, whose)
        found: Rendered = await self._keeper.get(key, partial(self._render, page, region, view))
        return found

    async def _render(
        self, page: WebPage, region: Region, view: PageView
    ) -> tuple[Rendered, float]:
        start_s, status = self._clock.steady_s(), 200
        try:
            shown = await region.load(view)
            html = render(f"{page.name}/{region.name}.html", view=view, page=page, **shown)
        except ProblemAnswer as error:
            html, status = render("problem.html", problem=error.problem), error.problem.status
        took_s = self._clock.steady_s() - start_s
        rest_s = max(region.fresh_s, min(REST_MAX_S, took_s * SHARE))
        tag = sha256(html.encode()).hexdigest()[:16]
        whole = Markup('<section data-region="{}" data-tag="{}" class="region">{}</section>')
        whole = whole.format(region.name, tag, Markup(html))  # noqa: S704 - of a template
        return Rendered(whole, tag, status), rest_s if status == 200 else FRESH_S

    async def watch(
        self,
        page: WebPage,
        view: PageView,
        seen: dict[str, str],
        may: Callable[[], Awaitable[bool]],
    ) -> AsyncIterator[bytes]:
        """Tell which regions are stale, for as long as somebody looks and `may`. `seen` has the
        tags of those that are shown."""
        told_s = self._clock.steady_s()
        yield b"retry: 2000\nevent: live\ndata: {}\n\n"
        while await may():
            stale = []
            for region in page.regions:
                tag = (await self.get(page, region, view)).tag
                if seen.get(region.name) != tag:
                    seen[region.name] = tag
                    stale.append(region.name)
            if stale:
                yield b"event: stale\ndata: " + msgspec.json.encode(stale) + b"\n\n"
            elif self._clock.steady_s() - told_s >= HEARTBEAT_S:
                yield b": still here\n\n"
            else:
                await self._clock.sleep(LOOK_S)
                continue
            told_s = self._clock.steady_s()
