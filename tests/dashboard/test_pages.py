"""Pages: what all of them have, regions that are kept fresh, and what actions tell."""

import asyncio
import re

import pytest

from postroad.api.in_process import ask
from postroad.dashboard.pages import PAGES
from postroad.dashboard.paging import WebPage
from postroad.dashboard.rendering import assets, environment
from postroad.remote.api_request import ApiRequest
from tests.dashboard.stand import CLIENT, HOST, PageStand

LISTED = [page for page in PAGES if "{" not in page.path]


def test_every_template_is_whole() -> None:
    names = environment().list_templates()
    assert {f"{page.name}/page.html" for page in PAGES} <= set(names)
    for name in names:
        environment().get_template(name)


@pytest.mark.parametrize("page", LISTED, ids=lambda page: page.name)
async def test_every_page_is_strict_and_answers_on_an_empty_road(
    stand: PageStand, page: WebPage
) -> None:
    await stand.login()
    answer = await stand.get(page.path)
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    text = answer.content.decode()
    assert text.count("<script") == 1
    assert not re.search(r"\s(on\w+|style)=", text)
    for region in page.regions:
        assert f'data-region="{region.name}"' in text or page.name == "overview"


async def test_files_have_addresses_that_change_with_them(stand: PageStand) -> None:
    await stand.login()
    text = (await stand.get("/")).content.decode()
    for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', text):
        answer = await stand.get(address)
        assert answer.status == 200
        assert "immutable" in answer.headers["cache-control"]
    assert (await stand.get("/static/old/app.js")).status == 404
    assert {"app.js", "app.css", "live.js"} <= set(assets())


async def test_what_is_no_page_is_answered_by_the_api(stand: PageStand) -> None:
    assert (await stand.get("/healthz")).json() == {"status": "ok", "parts": {}}
    assert (await stand.get("/v1/queues")).status == 401
    await stand.login()
    assert (await stand.get("/v1/queues")).status == 401  # a cookie is no token
    assert (await stand.get("/nothing")).status == 404


async def test_a_region_is_rendered_once_for_all_who_look(stand: PageStand) -> None:
    await stand.login()
    before = stand.road.store.queries.get("insight", 0)
    some = {"postroad-region": "table"}
    found = await asyncio.gather(*(stand.get("/queues", some) for _ in range(20)))
    assert len({answer.content for answer in found}) == 1
    assert stand.road.store.queries.get("insight", 0) - before <= 2


async def test_the_stream_says_which_region_is_stale(stand: PageStand) -> None:
    await stand.login()
    heard: list[bytes] = []
    stale = asyncio.Event()

    def hear(piece: bytes) -> None:
        heard.append(piece)
        if b"stale" in piece:
            stale.set()

    cookie = "; ".join(f"{name}={value}" for name, value in stand.cookies.items())
    headers = {"host": HOST, "cookie": cookie, "accept": "text/event-stream"}
    page = await stand.get("/queues")
    tag = re.findall(r'data-region="table" data-tag="(\w+)"', page.content.decode())[0]
    asked = ApiRequest("GET", "/live", {"page": "/queues", "seen": f"table:{tag}"}, b"", headers)
    watching = asyncio.ensure_future(ask(stand.pages, asked, hear, client=CLIENT))
    while not heard:
        await asyncio.sleep(0.01)
    assert not stale.is_set()
    await stand.send("good")
    async with asyncio.timeout(60):
        await stale.wait()
        stand.context.stopping = True
        await watching  # a server that stops waits for nobody
    assert b'data: ["table"]' in b"".join(heard)


async def test_an_action_goes_back_to_where_it_came_from_and_nowhere_else(
    stand: PageStand,
) -> None:
    await stand.login()
    await stand.send("good")
    answer = await stand.post("/queues/pause", queue="good", back="/queues?after=x")
    assert answer.headers["location"] == "/queues?after=x"
    shown = await stand.get("/queues")
    assert b"good is paused" in shown.content
    assert b"good is paused" not in (await stand.get("/queues")).content
    for back in (
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/x\r\nset-cookie: a=b",
    ):
        answer = await stand.post("/queues/resume", queue="good", back=back)
        assert answer.headers["location"] == "/queues"


async def test_what_is_refused_is_told_in_a_sentence(stand: PageStand) -> None:
    await stand.login()
    answer = await stand.post("/queues/pause", {"postroad-fetch": "1"}, queue="none")
    assert answer.json()["bad"]
    assert "none" in answer.json()["notice"]
    assert (await stand.post("/queues/pause")).status == 400
