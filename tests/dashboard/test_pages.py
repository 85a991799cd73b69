"""Pages: what all of them have, regions that are kept fresh, and what actions tell."""

import asyncio
import re
from pathlib import Path

import pytest

from postroad.api.in_process import ask
from postroad.dashboard import rendering
from postroad.dashboard.answers import WATCHED_MAX
from postroad.dashboard.pages import PAGES
from postroad.dashboard.paging import WebPage
from postroad.dashboard.rendering import assets, environment
from postroad.remote.api_request import ApiAnswer, ApiRequest
from tests.dashboard.stand import CLIENT, HOST, PageStand, unmarked

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
    names_one = page.name.endswith("_one")  # in its query: none is named here
    assert answer.status in ((400, 404) if names_one else (200,))
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
    assert (await stand.get("/nothing")).json()["status"] == 404


async def test_a_browser_is_told_on_a_page_that_there_is_none(stand: PageStand) -> None:
    browser = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    assert (await stand.get("/nothing", browser)).headers["location"] == "/login"
    await stand.login()
    for path in ("/nothing", "/messages/a/b", "//evil.example/"):
        answer = await stand.get(path, browser)
        assert answer.status == 404
        assert b"there is no page at" in answer.content, path
        assert answer.headers["content-security-policy"]
    assert (await stand.get("/v1/nothing", browser)).json()["status"] == 404


async def test_another_tenant_is_shown_on_the_same_page(stand: PageStand) -> None:
    await stand.login()
    _ = await stand.road.tenants.create("acme")
    number = await stand.send("good")
    for path, list_ in (("/queues", "/queues"), (f"/messages/{number}", "/messages")):
        assert f'name="back" value="{list_}"><button' in (await stand.get(path)).content.decode()
    answer = await stand.post("/tenant", tenant="acme", back="/queues")
    assert answer.headers["location"] == "/queues"
    answer = await stand.post("/tenant", tenant="acme", back="//evil.example")
    assert answer.headers["location"] == "/"


async def test_a_region_is_rendered_once_for_all_who_look(stand: PageStand) -> None:
    await stand.login()
    before = stand.road.store.queries.get("insight", 0)
    some = {"postroad-region": "table"}
    found = await asyncio.gather(*(stand.get("/queues", some) for _ in range(20)))
    assert len({unmarked(answer.content) for answer in found}) == 1
    assert stand.road.store.queries.get("insight", 0) - before <= 2


async def test_what_no_page_reads_of_an_address_renders_nothing_anew(stand: PageStand) -> None:
    await stand.login()
    before = stand.road.store.queries.get("insight", 0)
    some = {"postroad-region": "table"}
    asked = [await stand.get(f"/queues?x={n}&after=", some) for n in range(20)]
    found = [unmarked(answer.content) for answer in asked]
    assert len(set(found)) == 1
    assert stand.road.store.queries.get("insight", 0) - before <= 2
    assert b"?x=" not in found[0]  # nor do its forms lead back there


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_what_it_reads_of_its_address(page: WebPage) -> None:
    folder = Path(rendering.__file__).parent
    templates = "".join(each.read_text() for each in (folder / f"templates/{page.name}").iterdir())
    read = set(re.findall(r'view\.query(?:\.get\(|\[)"(\w+)"', templates))
    for inner in re.findall(r"view\.link\(([^)]*)\)", templates):
        read |= set(re.findall(r"(\w+)=", inner))
    assert read <= set(page.query)


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


@pytest.mark.parametrize("letter", ["a", "ж", "\U0001f600"])
async def test_a_long_notice_is_cut_to_what_browsers_keep(stand: PageStand, letter: str) -> None:
    await stand.login()
    answer = await stand.post("/queues/pause", queue=letter * 1_000)
    cookie = answer.headers["set-cookie"]
    assert len(cookie) < 4_096
    shown = (await stand.get("/")).content.decode()
    notice = re.findall(r'id="notice"[^>]*>([^<]*)', shown)[0]
    assert letter * 50 in notice


async def test_what_is_refused_is_told_in_a_sentence(stand: PageStand) -> None:
    await stand.login()
    answer = await stand.post("/queues/pause", {"postroad-fetch": "1"}, queue="none")
    assert answer.json()["bad"]
    assert "none" in answer.json()["notice"]
    assert (await stand.post("/queues/pause")).status == 400


def test_every_page_of_the_menu_has_a_key_of_its_own() -> None:
    keys = [page.key for page in PAGES if page.group]
    assert all(len(key) == 1 for key in keys)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/messages/01JZZZZZZZZZZZZZZZZZZZZZZZ", 404),
        ("/queue?name=nobody", 404),
        ("/lane?id=99", 404),
        ("/endpoints/nobody", 404),
        ("/campaigns/nobody", 404),
        ("/timetable?name=nobody", 404),
        ("/credential?name=nobody", 404),
        ("/messages?level=high", 400),
        ("/messages?since=yesterday", 400),
        ("/dead?reason=bored", 400),
        ("/dead?after=x", 400),
        ("/messages", 200),
        ("/messages?since=2020-01-01T00:00&until=2020-01-01T00:00:05.5", 200),
        ("/dead?since=2020-01-01T00:00&until=2020-01-01T00:00:05Z", 200),
    ],
)
async def test_a_page_of_something_unknown_or_wrong_says_so_by_its_status(
    stand: PageStand, path: str, status: int
) -> None:
    await stand.login()
    assert (await stand.get(path)).status == status


async def test_a_session_keeps_twenty_pages_live_and_the_next_one_is_told(
    stand: PageStand,
) -> None:
    await stand.login()
    cookie = "; ".join(f"{name}={value}" for name, value in stand.cookies.items())
    headers = {"host": HOST, "cookie": cookie, "accept": "text/event-stream"}
    asked = ApiRequest("GET", "/live", {"page": "/queues"}, b"", headers)
    heard: list[bytes] = []

    def watch() -> "asyncio.Future[ApiAnswer]":
        return asyncio.ensure_future(ask(stand.pages, asked, heard.append, client=CLIENT))

    many = [watch() for _ in range(WATCHED_MAX)]
    async with asyncio.timeout(60):
        while b"".join(heard).count(b"event: live") < WATCHED_MAX:
            await asyncio.sleep(0.01)
        _ = await watch()
        assert b"event: full" in b"".join(heard)
        for one in many:
            one.cancel()
        await asyncio.wait(many)
        heard.clear()
        again = watch()
        while b"event: live" not in b"".join(heard):
            await asyncio.sleep(0.01)
        stand.context.stopping = True
        await again
    assert b"20 others of your session" in (await stand.get("/queues")).content


async def test_the_system_page_shows_settings_store_and_findings_to_the_operator(
    stand: PageStand,
) -> None:
    await stand.login()
    shown = (await stand.get("/system")).content.decode()
    for text in (
        *("<code>listen</code>", "program", "SQLite 3.", "none is open", "Layout"),
        *("1048576 <span", ">1 MiB<", ">7 d<"),
    ):
        assert text in shown, text
    await stand.login(role="operate")
    assert "<code>listen</code>" not in (await stand.get("/system")).content.decode()
    await stand.login(role="admin", tenant="shop")
    assert "<code>listen</code>" not in (await stand.get("/system")).content.decode()


async def test_the_findings_say_whose_messages_they_are_about(stand: PageStand) -> None:
    await stand.login()
    _ = await stand.road.tenants.create("acme")
    await stand.post("/tenant", tenant="acme")
    shown = (await stand.get("/system")).content.decode()
    assert "messages, lanes and tokens are those of tenant acme" in shown
