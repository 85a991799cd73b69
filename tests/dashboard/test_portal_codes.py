"""The codes of portal links: what they open, and what guesses at them are told."""

from pathlib import Path

import pytest

from tests.dashboard.portal import OPEN, Visitor, visit
from tests.dashboard.stand import PageStand


@pytest.fixture
def stand(tmp_path: Path) -> PageStand:
    return PageStand(tmp_path, OPEN)


async def test_wrong_codes_are_slowed_down(stand: PageStand) -> None:
    wrong = Visitor(stand, "/portal/abcd#prt_wrong")
    found = [(await wrong.open()).status for _ in range(12)]
    assert found[:10] == [401] * 10
    assert found[10:] == [429, 429]
    good = await visit(stand)  # from the same address
    assert (await good.page("endpoints")).status == 200
    login = await stand.road.sessions.login("Ada")
    assert (await stand.post("/login", code=login.code)).status == 303


async def test_links_that_were_opened_or_revoked_are_no_guesses(stand: PageStand) -> None:
    visitor = await visit(stand)
    again = Visitor(stand, f"{visitor.base}#{visitor.code}")
    for _ in range(15):
        said = await again.open()
        assert (said.status, "opened before" in said.json()["detail"]) == (401, True)
    assert (await visit(stand)).token


async def test_the_code_of_a_link_is_no_token(stand: PageStand) -> None:
    made = await stand.road.portal.link("acme")
    unopened = Visitor(stand, made.path)
    unopened.token = unopened.code
    assert (await unopened.page("endpoints")).status == 401
    assert (await unopened.say("GET", "/v1/endpoints")).status == 401
    row = await stand.road.store.token_find(made.id)
    assert row is not None
    assert unopened.code.encode() not in row[1]
