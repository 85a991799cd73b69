"""The portal in a real browser, in a frame of another site: of an allowed origin and of others."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, Request, expect

from tests.dashboard.looks import check_access
from tests.dashboard.planting import REACH
from tests.dashboard.portal import EmbeddingSite, embedding_site
from tests.dashboard.site import WAIT_MS, Site, seen
from tests.dashboard.vectors import CLEAN, VECTORS
from tests.servers import free_port


@pytest.fixture(scope="module")
def shop() -> Iterator[EmbeddingSite]:
    with embedding_site() as found:
        yield found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A road that all tests of this file look at: each has a tenant of its own."""
    made = Site(tmp_path_factory.mktemp("portal"), free_port())
    made.words += REACH
    with made.up():
        yield made


def link(place: Site, tenant: str, **options: Any) -> str:
    made = place.ask("POST", "/v1/portal-links", {"tenant": tenant, **options})
    return place.url + str(made["path"])


def framed(page: Page, shop: EmbeddingSite, url: str, at: str = "") -> FrameLocator:
    """The portal, as a page of the shop shows it."""
    shop.frame = url
    page.goto(at or shop.origin)
    return page.frame_locator("iframe")


def test_a_customer_adds_an_endpoint_in_a_frame_and_sees_what_was_sent(
    browser: Browser, place: Site, shop: EmbeddingSite
) -> None:
    url = link(place, "heart", origins=[shop.origin], title="Shop hooks", accent="#ffd400")
    with seen(browser, place, own=(shop.origin,)) as (page, _):
        place.login(page)
        page.goto("about:blank")  # what the page behind the login still asks has its cookie
        asked: list[Request] = []
        page.on("request", lambda one: asked.append(one))  # noqa: PLW0108 - no built-in
        frame = framed(page, shop, url)
        expect(frame.get_by_text("Shop hooks")).to_be_visible()
        frame.get_by_role("link", name="Add endpoint").click()
        frame.get_by_label("Address").fill(f"{shop.near}/500")
        frame.get_by_role("button", name="Add endpoint").click()
        secret = frame.locator("#secret")
        expect(secret).to_contain_text("whsec_")
        shown = secret.inner_text()
        frame.get_by_role("link", name="To the endpoint").click()
        expect(frame.get_by_role("heading", level=1)).to_have_text(f"{shop.near}/500")
        expect(frame.get_by_text(shown)).to_have_count(0)
        place.ask_as("heart", "POST", "/v1/events", {"type": "a", "body": {"x": VECTORS[0]}})
        frame.get_by_role("link", name="Messages").click()
        frame.get_by_role("link", name="msg").first.click()
        expect(frame.get_by_label("Answer")).to_contain_text(VECTORS[0])
        frame.get_by_role("link", name="Endpoints").click()
        expect(frame.get_by_role("row").filter(has_text="/500")).to_be_visible()
        # This browser lets frames of other sites store nothing.
        expect(frame.get_by_text("lets this page keep nothing")).to_be_visible()
        assert not page.evaluate("window.pwned")
        framed_ones = [one for one in asked if one.url.startswith(place.url)]
        assert len(framed_ones) > 10
        assert not any("cookie" in one.all_headers() for one in framed_ones)
        asked.clear()
        page.goto(place.url)  # the session that was not sent is still there
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
        assert "cookie" in asked[0].all_headers()


def test_a_portal_shows_one_tenant_and_is_refused_for_another(
    browser: Browser, place: Site, shop: EmbeddingSite
) -> None:
    mine, theirs = (
        place.ask_as(tenant, "POST", "/v1/endpoints", {"url": f"{shop.near}/{tenant}"})["id"]
        for tenant in ("mine", "theirs")
    )
    event = {"type": "a", "body": {"n": 1}}
    (sent,) = place.ask_as("theirs", "POST", "/v1/events", event)["messages"]
    with seen(browser, place) as (page, watched):
        page.goto(link(place, "mine"))
        expect(page.get_by_role("link", name=f"{shop.near}/mine")).to_be_visible()
        expect(page.get_by_text(f"{shop.near}/theirs")).to_have_count(0)
        watched.away = True  # the refusals are told on the console
        for path in (f"/endpoints/{theirs}", f"/messages/{sent}"):
            page.evaluate("(path) => { location.hash = path }", path)
            expect(page.locator("#notice")).to_contain_text(path.rpartition("/")[2])
            expect(page.get_by_text(f"{shop.near}/theirs")).to_have_count(0)
        page.evaluate("(path) => { location.hash = path }", f"/endpoints/{mine}")
        expect(page.get_by_role("heading", level=1)).to_have_text(f"{shop.near}/mine")


def test_a_frame_of_another_origin_is_refused(
    browser: Browser, place: Site, shop: EmbeddingSite
) -> None:
    url = link(place, "framed", origins=[shop.near])
    with seen(browser, place, own=(shop.origin, shop.near)) as (page, watched):
        watched.away = True  # the refusal is told on the console
        with page.expect_console_message(lambda said: "frame-ancestors" in said.text):
            frame = framed(page, shop, url)
        expect(frame.get_by_text("Endpoints")).to_have_count(0)
        frame = framed(page, shop, url, shop.near)  # nothing was used up by that
        expect(frame.get_by_text("No endpoints yet")).to_be_visible()
        page.reload()  # the host shows the same frame again: this tab still has the token
        expect(frame.get_by_text("No endpoints yet")).to_be_visible()


@pytest.mark.wide
def test_a_page_that_may_store_nothing_works_and_says_so(browser: Browser, place: Site) -> None:
    denied = "get() { throw new DOMException('denied', 'SecurityError'); }"
    with seen(browser, place) as (page, _):
        page.add_init_script(f"Object.defineProperty(window, 'sessionStorage', {{ {denied} }});")
        page.goto(link(place, "unkept"))
        expect(page.get_by_text("No endpoints yet")).to_be_visible()
        expect(page.get_by_text("lets this page keep nothing")).to_be_visible()
        page.reload()
        expect(page.get_by_text("This link has ended")).to_be_visible()
    with seen(browser, place) as (page, _):
        page.goto(link(place, "unkept"))
        expect(page.get_by_text("No endpoints yet")).to_be_visible()
        expect(page.get_by_text("lets this page keep nothing")).to_be_hidden()
        page.reload()
        expect(page.get_by_text("No endpoints yet")).to_be_visible()


def test_a_used_a_stolen_and_a_revoked_link_are_refused_with_a_sentence(
    browser: Browser, place: Site
) -> None:
    url = link(place, "stolen")
    with seen(browser, place) as (page, watched):
        page.goto(url)
        expect(page.get_by_text("No endpoints yet")).to_be_visible()
        assert "prt_" not in page.url
        with seen(browser, place) as (thief, other):
            other.away = True  # the refusal is told on the console
            thief.goto(url)
            expect(thief.get_by_text("This link has ended")).to_be_visible()
            thief.goto(page.url)
            expect(thief.get_by_text("This link has ended")).to_be_visible()
        (made,) = place.ask_as("stolen", "GET", "/v1/portal-links")
        place.ask("DELETE", f"/v1/portal-links/{made['id']}")
        watched.away = True
        page.get_by_role("link", name="Messages").click()
        expect(page.get_by_text("This link has ended")).to_be_visible()
        page.goto(place.url + "/portal/nonsense#prt_x")
        expect(page.get_by_text("This link has ended")).to_be_visible()


PAGES = ("/endpoints", "/new", "/messages", "/types")


def fill(
    place: Site, shop: EmbeddingSite, tenant: str, vectors: tuple[str, ...] = VECTORS[::20]
) -> tuple[list[str], list[str]]:
    """Endpoints, event types and messages whose every text is hostile; answers the ids of endpoints
    and of messages."""
    ids: list[str] = []
    for number, vector in enumerate(vectors):
        data: dict[str, Any] = {
            "url": f"{shop.near}/400?{number}",
            "description": vector,
            "reject": [400],
        }
        ids.append(place.ask_as(tenant, "POST", "/v1/endpoints", data)["id"])
        schema = {"type": "object", "properties": {vector: {"const": vector}}}
        data = {"name": f"t{number}", "description": vector, "schema": schema, "warn": True}
        place.ask("POST", "/v1/event-types", data)
    data = {"type": "t0", "body": {vector: vector for vector in vectors}}
    return ids, place.ask_as(tenant, "POST", "/v1/events", data)["messages"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.wide
def test_every_page_is_open_to_everybody_and_harmless(
    browser: Browser, place: Site, shop: EmbeddingSite, scheme: str
) -> None:
    ids, sent = fill(place, shop, f"wide-{scheme}")
    pages = [*PAGES, f"/endpoints/{ids[0]}", f"/messages/{sent[0]}"]
    with seen(browser, place, color_scheme=scheme, reduced_motion="reduce") as (page, _):
        page.goto(link(place, f"wide-{scheme}", accent="#ffd400", title=VECTORS[1]))
        expect(page.get_by_role("row").first).to_be_visible()
        for path in pages:
            show(page, path)
            check_access(page)
            page.set_viewport_size({"width": 360, "height": 740})
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 360, (path, wide)
            page.set_viewport_size({"width": 1100, "height": 800})


@pytest.mark.wide
def test_no_text_runs_as_code_on_any_page(
    browser: Browser, place: Site, shop: EmbeddingSite
) -> None:
    """Descriptions, types, schemas, bodies, and answers of servers."""
    assert len(set(VECTORS)) >= 200
    ids, sent = fill(place, shop, "vectors", VECTORS)
    with seen(browser, place) as (page, _):
        page.goto(link(place, "vectors", title=VECTORS[3]))
        expect(page.get_by_role("row").first).to_be_visible()
        for path in ("/types", "/new", *(f"/endpoints/{each}" for each in ids), "/messages"):
            show(page, path)
        for each in sent[::20]:
            show(page, f"/messages/{each}")
            expect(page.get_by_text(VECTORS[0], exact=False).first).to_be_attached()
        show(page, "/endpoints")
        while (following := page.locator("a[rel=next]")).count():
            before = page.locator("#page").get_attribute("data-shown")
            following.click()
            expect(page.locator("#page")).not_to_have_attribute("data-shown", before or "")
            assert page.evaluate(CLEAN, "#page *") == []


def show(page: Page, path: str) -> None:
    """Go to a page of the portal, open all that can be opened, and find nothing foreign in it."""
    page.evaluate("(path) => { location.hash = path }", path)
    expect(page.locator(f"[data-shown='{path}']")).to_be_visible()
    for each in page.locator("details").all():
        each.evaluate("(node) => { node.open = true }")
    assert page.evaluate(CLEAN, "#page *") == [], path


@pytest.mark.wide
def test_the_whole_life_of_an_endpoint_with_the_keyboard_and_without(
    browser: Browser, place: Site, shop: EmbeddingSite
) -> None:
    made = place.ask_as("life", "POST", "/v1/endpoints", {"url": f"{shop.near}/200"})
    with seen(browser, place) as (page, _):
        page.goto(link(place, "life"))
        row = page.get_by_role("link", name=f"{shop.near}/200")
        row.focus()
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Disable").click()
        expect(page.get_by_text("Disabled: messages")).to_be_visible()
        page.get_by_role("button", name="Enable").click()
        expect(page.get_by_text("Enabled: what was held")).to_be_visible()
        page.get_by_text("Change", exact=True).click()
        page.get_by_label("Description").fill("mine")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved.")).to_be_visible()
        page.get_by_text("New secret", exact=True).click()
        page.get_by_role("button", name="Make a new secret").click()
        expect(page.locator("#secret")).to_contain_text("whsec_")
        page.get_by_role("link", name="To the endpoint").click()
        page.get_by_text("Delete", exact=True).click()
        page.get_by_role("button", name="Delete for good").click()
        expect(page.get_by_text("Deleted.")).to_be_visible()
        assert made["id"]
        assert place.ask_as("life", "GET", "/v1/endpoints")["endpoints"] == []


@pytest.mark.wide
def test_in_a_frame_a_customer_tries_mends_and_gets_again_what_failed(
    browser: Browser, place: Site, shop: EmbeddingSite
) -> None:
    made = {"url": f"{shop.near}/400", "reject": [400]}
    place.ask_as("mend", "POST", "/v1/endpoints", made)
    place.ask("POST", "/v1/event-types", {"name": "a"})  # those of other tests make it needed
    event = {"type": "a", "body": {"n": 1}}
    (sent,) = place.ask_as("mend", "POST", "/v1/events", event)["messages"]
    url = link(place, "mend", origins=[shop.origin])
    with seen(browser, place, own=(shop.origin,)) as (page, _):
        frame = framed(page, shop, url)
        frame.get_by_role("link", name="/400").click()
        frame.get_by_text("New secret", exact=True).click()
        frame.get_by_role("button", name="Make a new secret").click()
        expect(frame.locator("#secret")).to_contain_text("whsec_")
        shown = frame.locator("#secret").inner_text()
        frame.get_by_role("link", name="To the endpoint").click()
        expect(frame.get_by_text("The secret before signs too until")).to_be_visible()
        expect(frame.get_by_text(shown)).to_have_count(0)
        frame.get_by_role("button", name="Send a test event").click()
        expect(frame.get_by_text("A test event of the type")).to_be_visible()
        _wait_until_dead(place, "mend", sent)
        frame.get_by_role("navigation").get_by_role("link", name="Messages").click()
        frame.get_by_role("link", name=sent).click()
        frame.get_by_role("button", name="Send again").click()
        expect(frame.get_by_text("Sent again: this is the new message.")).to_be_visible()
        expect(frame.get_by_role("heading", level=1)).not_to_have_text(sent)
        frame.get_by_role("navigation").get_by_role("link", name="Endpoints").click()
        frame.get_by_role("link", name="/400").click()
        frame.get_by_label("Since (UTC)").fill("2020-01-01T00:00")
        frame.get_by_role("button", name="Send again").click()
        expect(frame.get_by_text(re.compile(r"sent again: [1-9]"))).to_be_visible()


def _wait_until_dead(place: Site, tenant: str, message: str) -> None:
    ends_s = time.monotonic() + WAIT_MS / 1000
    while place.ask_as(tenant, "GET", f"/v1/messages/{message}")["state"] != "dead":
        assert time.monotonic() < ends_s
        time.sleep(0.05)
