"""Without scripts each page can be read and used: what it shows is in it, and forms have buttons."""

from html.parser import HTMLParser

import pytest

from postroad.dashboard.pages import PAGES
from postroad.dashboard.paging import WebPage
from tests.dashboard.stand import PageStand

MENU = [page for page in PAGES if page.group]
VOID = frozenset({"input", "meta", "link", "br", "path", "line", "rect", "img", "hr"})
EMPTY = ("jobs", "create")
"""No job is under way, and without a credential there is no form of a campaign."""


class Reading(HTMLParser):
    """What a browser without scripts shows of a page, and can do there."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        """What stands in each region."""
        self.links: set[str] = set()
        self.forms: list[str] = []
        """Those by their actions that nothing can send."""
        self.heading = ""
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self._senders: set[str] = set()
        self._ids: dict[str, str] = {}
        self._wanting: dict[int, str] = {}
        self.feed(text)
        self.forms += [
            action
            for number, action in self._wanting.items()
            if self._ids.get(str(number), "") not in self._senders
        ]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in VOID:
            self._open.append((tag, given))
        if tag == "a":
            self.links.add(given.get("href") or "")
        if tag == "form" and given.get("method") != "dialog":
            number = len(self._wanting)
            self._wanting[number] = given.get("action") or ""
            self._ids[str(number)] = given.get("id") or f"form {number}"
            given["number"] = str(number)
        if tag == "button" and given.get("type", "submit") == "submit":
            inside = [more for name, more in self._open if name == "form" and "number" in more]
            owner = given.get("form") or (self._ids[inside[-1]["number"] or ""] if inside else "")
            self._senders.add(owner)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        names = [name for name, _ in self._open]
        if "h1" in names:
            self.heading += data
        if "script" in names or any("hidden" in more for _, more in self._open):
            return
        for _, more in self._open:
            if region := more.get("data-region"):
                self.texts[region] = self.texts.get(region, "") + data.strip()


async def fill(stand: PageStand) -> None:
    """Something for each page to show."""
    await stand.login()
    for queue in ("good", "bad"):
        await stand.send(queue)
    await stand.road.run(until_idle=True)
    await stand.send("good")
    await stand.road.pause("good")
    _ = await stand.road.endpoints.create("https://customer.example.com/hook", types=("a.b",))
    _ = await stand.road.suppressions.add("ann@example.com")


@pytest.mark.parametrize("page", MENU, ids=lambda page: page.name)
async def test_a_page_can_be_read_and_used_without_scripts(stand: PageStand, page: WebPage) -> None:
    await fill(stand)
    shown = Reading((await stand.get(page.path)).content.decode())
    assert shown.heading.strip() == page.title
    assert {each.path for each in MENU} <= shown.links
    for region in page.regions:
        assert shown.texts.get(region.name) or region.name in EMPTY, region.name
    assert shown.forms == []
    assert "Loading" not in "".join(shown.texts.values())


async def test_what_happened_to_a_message_can_be_read_without_scripts(stand: PageStand) -> None:
    await fill(stand)
    (dead,) = (await stand.road.dead.list()).messages
    shown = Reading((await stand.get(f"/messages/{dead.id}")).content.decode())
    assert "Try 1" in shown.texts["story"]
    assert "never: 1" in shown.texts["story"]
    plots = Reading((await stand.get("/")).content.decode()).texts["plots"]
    assert "delivered" in plots
