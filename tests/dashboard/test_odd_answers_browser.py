"""What people are told in a browser when an answer is none that a page of ours expects."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.dashboard.site import Site, seen
from tests.servers import free_port

pytestmark = pytest.mark.wide
PROXY = "<html><body><h1>502 Bad Gateway</h1></body></html>"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("odd"), free_port())
    with made.up():
        yield made


def answers(page: Page, path: str, status: int, text: str, kind: str = "text/html") -> None:
    """From now on something in between answers what scripts ask for."""

    def answer(route: Route) -> None:
        if "postroad-region" in route.request.headers or "authorization" in route.request.headers:
            route.fulfill(status=status, body=text, content_type=kind)
        else:
            route.continue_()

    page.route(path, answer)


def portal(place: Site, **options: Any) -> str:
    made = place.ask("POST", "/v1/portal-links", {"tenant": "acme", **options})
    return place.url + str(made["path"])


def test_a_customer_is_told_when_a_proxy_answers_for_the_server(
    browser: Browser, place: Site
) -> None:
    with seen(browser, place) as (page, watched):
        watched.away = True
        page.goto(portal(place))
        expect(page.get_by_text("No endpoints yet")).to_be_visible()
        answers(page, "**/portal/*/pages/**", 502, PROXY)
        page.get_by_role("link", name="Messages").click()
        expect(page.locator("#notice")).to_have_text(
            "The server does not answer. Try again in a moment."
        )


def test_a_page_that_is_refused_says_why_and_one_without_an_answer_says_that(
    browser: Browser, place: Site
) -> None:
    with seen(browser, place) as (page, watched):
        place.login(page)
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        watched.away = True
        told = '{"type": "about:blank", "status": 403, "detail": "you may not see this any more"}'
        answers(page, f"{place.url}/", 403, told, "application/problem+json")
        place.send("good")
        expect(page.locator("#refused")).to_have_text("you may not see this any more")
        expect(page.locator("#away")).to_be_hidden()
        page.unroute_all(behavior="wait")
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        answers(page, f"{place.url}/", 502, PROXY)
        place.send("good")
        expect(page.locator("#away")).to_be_visible()
        expect(page.locator("#refused")).to_be_hidden()
