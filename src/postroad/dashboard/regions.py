"""Regions of pages, rendered once for all who look at the same, and told when they are stale."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import sha256
from typing import Final

import msgspec
from markupsafe import Markup
from msgspec import Struct

from postroad.dashboard.asking import ProblemAnswer
from postroad.dashboard.paging import PageView, Region, WebPage
from postroad.dashboard.rendering import render
from postroad.ports.clock import Clock

SHARE: Final = 100
"""One that took long to render is left alone for so many times as long, but not for longer than
this:"""
STALE_S: Final = 10.0
KEPT_MAX: Final = 500
LOOK_S: Final = 0.5
HEARTBEAT_S: Final = 10.0


class Rendered(Struct):
    """A region as it was rendered last."""

    lock: asyncio.Lock
    html: Markup = Markup()
    status: int = 200
    """What a page is answered with that has it: as the API answered."""
    tag: str = ""
    until_s: float = 0.0


class Regions:
    """Renders regions, and keeps each for a moment."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[object, Rendered] = OrderedDict()
        self._changes = 0

    async def get(self, page: WebPage, region: Region, view: PageView) -> Rendered:
        """A region as it is now, or was a moment ago."""
        who = view.who
        rights = (who.tenant, who.every_tenant, who.scopes, who.token if region.personal else "")
        key = (page.name, region.name, view.here, rights)
        kept = self._kept.pop(key, None) or Rendered(asyncio.Lock())
        self._kept[key] = kept
        while len(self._kept) > KEPT_MAX:
            self._kept.popitem(last=False)
        async with kept.lock:
            if self._clock.steady_s() >= kept.until_s:
                await self._render(kept, page, region, view)
        return kept

    async def _render(self, kept: Rendered, page: WebPage, region: Region, view: PageView) -> None:
        start_s, share, kept.status = self._clock.steady_s(), SHARE, 200
        changes = self._changes
        try:
            shown = await region.load(view)
            html = render(f"{page.name}/{region.name}.html", view=view, page=page, **shown)
        except ProblemAnswer as error:
            html, share = render("problem.html", problem=error.problem), 0
            kept.status = error.problem.status
        took_s = self._clock.steady_s() - start_s
        kept.tag = sha256(html.encode()).hexdigest()[:16]
        kept.html = Markup('<section data-region="{}" data-tag="{}" class="region">{}</section>')
        kept.html = kept.html.format(region.name, kept.tag, Markup(html))  # noqa: S704 - of a template
        kept.until_s = self._clock.steady_s() + min(STALE_S, max(region.fresh_s, took_s * share))
        if changes != self._changes:  # meanwhile: it may show what was before
            kept.until_s = 0.0

    def forget(self) -> None:
        """Render everything anew: something was changed here."""
        self._changes += 1
        for kept in self._kept.values():
            kept.until_s = 0.0

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
