"""The portal in a real browser, in a frame of another site: on an allowed origin and on others."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from tests.dashboard.portal import EmbeddingSite, embedding_site
from tests.dashboard.site import Site, check_access, seen
from tests.servers import free_port

REACH = (
    *("--set", "webhooks.http=true", "--set", "webhooks.allow=127.0.0.0/8"),
    *("--set", "webhooks.ports="),
)
VECTORS = (
    "<script>window.broken=1</script>",
    "<img src=x onerror=window.broken=1>",
    '"><svg onload=window.broken=1>',
    "' onmouseover='window.broken=1",
    "javascript:window.broken=1",
    "</pre></textarea></title><script>window.broken=1</script>",
    "{{ 7 * 7 }}{% raw %}",
    "<iframe srcdoc='<script>parent.broken=1</script>'>",
    "<a href='javascript:window.broken=1'>x</a>",
    "<template><script>window.broken=1</script></template>",
)


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
        frame = framed(page, shop, url)
        expect(frame.get_by_text("Shop hooks")).to_be_visible()
        frame.get_by_role("link", name="Add endpoint").click()
        frame.get_by_label("Address").fill(f"{shop.origin}/500")
        frame.get_by_role("button", name="Add endpoint").click()
        secret = frame.locator("#secret")
        expect(secret).to_contain_text("whsec_")
        shown = secret.inner_text()
        frame.get_by_role("link", name="To the endpoint").click()
        expect(frame.get_by_role("heading", level=1)).to_have_text(f"{shop.origin}/500")
        expect(frame.get_by_text(shown)).to_have_count(0)
        place.ask_as("heart", "POST", "/v1/events", {"type": "a", "body": {"x": VECTORS[0]}})
        frame.get_by_role("link", name="Messages").click()
        frame.get_by_role("link", name="msg").first.click()
        expect(frame.get_by_text(VECTORS[0])).to_be_visible()
        frame.get_by_role("link", name="Endpoints").click()
        expect(frame.get_by_role("row").filter(has_text="/500")).to_be_visible()
        page.reload()  # the host shows the same frame again: this tab still has the token
        expect(frame.get_by_role("row").filter(has_text="/500")).to_be_visible()
        assert not page.evaluate("window.broken")


def test_a_frame_of_another_origin_is_refused(
    browser: Browser, place: Site, shop: EmbeddingSite
) -> None:
    url = link(place, "framed", origins=[shop.origin])
    with seen(browser, place, own=(shop.origin, shop.other)) as (page, watched):
        watched.away = True  # the refusal is told on the console
        with page.expect_console_message(lambda said: "frame-ancestors" in said.text):
            frame = framed(page, shop, url, shop.other)
        expect(frame.get_by_text("Endpoints")).to_have_count(0)
        frame = framed(page, shop, url)  # nothing was used up by that
        expect(frame.get_by_text("No endpoints yet")).to_be_visible()


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


def fill(place: Site, shop: EmbeddingSite, tenant: str) -> list[str]:
    """Endpoints, event types and messages whose every text is hostile; answers their pages."""
    ids = []
    for number, vector in enumerate(VECTORS):
        data: dict[str, Any] = {
            "url": f"{shop.origin}/400?{number}",
            "description": vector,
            "reject": [400],
        }
        ids.append(place.ask_as(tenant, "POST", "/v1/endpoints", data)["id"])
        schema = {"type": "object", "properties": {vector: {"const": vector}}}
        data = {"name": f"t{number}", "description": vector, "schema": schema, "warn": True}
        place.ask("POST", "/v1/event-types", data)
    data = {"type": "t0", "body": {vector: vector for vector in VECTORS}}
    sent = place.ask_as(tenant, "POST", "/v1/events", data)["messages"]
    return [*PAGES, f"/endpoints/{ids[0]}", f"/messages/{sent[0]}"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.wide
def test_every_page_is_open_to_everybody_and_harmless(
    browser: Browser, place: Site, shop: EmbeddingSite, scheme: str
) -> None:
    pages = fill(place, shop, f"wide-{scheme}")
    with seen(browser, place, color_scheme=scheme, reduced_motion="reduce") as (page, _):
        page.goto(link(place, f"wide-{scheme}", accent="#ffd400", title=VECTORS[1]))
        expect(page.get_by_role("row").first).to_be_visible()
        for path in pages:
            page.evaluate("(path) => { location.hash = path }", path)
            expect(page.locator(f"[data-shown='{path}']")).to_be_visible()
            for each in page.locator("details").all():
                each.evaluate("(node) => { node.open = true }")
            check_access(page)
            page.set_viewport_size({"width": 360, "height": 740})
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 360, (path, wide)
            page.set_viewport_size({"width": 1100, "height": 800})
            assert not page.evaluate("window.broken")
            assert page.locator("main script, main iframe, main [onerror]").count() == 0


@pytest.mark.wide
def test_the_whole_life_of_an_endpoint_with_the_keyboard_and_without(
    browser: Browser, place: Site, shop: EmbeddingSite
) -> None:
    made = place.ask_as("life", "POST", "/v1/endpoints", {"url": f"{shop.origin}/200"})
    with seen(browser, place) as (page, _):
        page.goto(link(place, "life"))
        row = page.get_by_role("link", name=f"{shop.origin}/200")
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
