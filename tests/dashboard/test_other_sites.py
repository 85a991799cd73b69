"""Other sites: every form and file that changes something is tried from elsewhere, with the guard
and without."""

from typing import Any

import pytest

from postroad.api.access import Access
from postroad.api.app import ROUTES
from postroad.api.tries import TRIES_MAX, Tries
from postroad.dashboard import guarding
from postroad.dashboard.application import OWN
from postroad.dashboard.pages import ACTIONS, FILES, PAGES
from tests.dashboard.stand import HOST, PageStand

ELSEWHERE = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": ""},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "none"},
]
CHANGING = [path for path in (*OWN, *ACTIONS, *FILES) if path != "/live"]


def nothing(*_: Any) -> None:
    """What a guard does that is not there."""


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
async def test_no_form_of_another_site_is_taken(
    stand: PageStand, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await stand.login()
    before = (await stand.say("GET", "/v1/audit")).json()["lines"]
    for path in CHANGING:
        answer = await stand.post(path, headers, id="x", name="x", queue="x", code="x")
        assert answer.status == 403, path
    assert (await stand.say("GET", "/v1/audit")).json()["lines"] == before
    monkeypatch.setattr(guarding, "check_own_form", nothing)
    monkeypatch.setattr(Access, "_check_origin", nothing)
    for path in CHANGING:
        answer = await stand.post(path, headers, id="x", name="x", queue="x", code="x")
        assert answer.status != 403, path
        await stand.login()  # /logout was among them


async def test_every_other_method_is_as_guarded_as_a_form(stand: PageStand) -> None:
    await stand.login()
    for path in FILES:
        for method in ("PUT", "PATCH", "DELETE"):
            answer = await stand.ask_as(method, path, {"origin": "http://evil.example"})
            assert answer.status == 403, (method, path)


async def test_no_route_of_the_api_hears_a_page_of_another_site(
    stand: PageStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stand.login()
    changing = [route for route in ROUTES if route.changes]
    assert len(changing) > 50
    evil = {"origin": "http://evil.example", "host": HOST}
    for route in changing:
        answer = await stand.ask_as(route.method, route.path, evil)
        assert answer.status == 403, route.path
    monkeypatch.setattr(Access, "_check_origin", nothing)
    for route in changing:  # and without that guard: the cookie is no token
        if not route.facts.is_public:
            assert (await stand.ask_as(route.method, route.path, evil)).status == 401, route.path


async def test_nothing_with_a_session_can_be_framed(stand: PageStand) -> None:
    await stand.login()
    paths = [page.path for page in PAGES] + ["/login", "/queue?name=none", "/logout"]
    for path in paths:
        policy = (await stand.get(path)).headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy, path


async def test_without_its_guard_a_login_code_can_be_guessed_on(
    stand: PageStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def guesses(many: int) -> list[int]:
        return [(await stand.post("/login", code=f"prt_{n}")).status for n in range(many)]

    assert await guesses(TRIES_MAX + 2) == [401] * TRIES_MAX + [429] * 2
    made = await stand.road.sessions.login("Ada")
    assert (await stand.post("/login", code=made.code)).status == 429  # a right one has to wait too
    monkeypatch.setattr(Tries, "count", nothing)
    assert await guesses(TRIES_MAX + 2) == [401] * (TRIES_MAX + 2)


async def test_logins_with_right_codes_are_no_guesses(stand: PageStand) -> None:
    """People of one network log in at the same time."""
    found = [(await stand.login()).status for _ in range(TRIES_MAX + 5)]
    assert found == [303] * (TRIES_MAX + 5)
