"""What pages say is for people at pages: no commands, no settings, no clock of the browser."""

import re

import pytest

from postroad.dashboard.asking import without_hints
from postroad.dashboard.views import dead
from tests.dashboard.stand import PageStand


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no campaign 'x': see `postroad campaign list`", "no campaign 'x'"),
        ("port 1 is not one of 443: see settings.webhooks.ports", "port 1 is not one of 443"),
        ("no body of 7: see `postroad message show 7` for what became of it", "no body of 7"),
        ("what you see: it stays", "what you see: it stays"),
    ],
)
def test_a_refusal_is_told_without_commands(text: str, shown: str) -> None:
    assert without_hints(text) == shown


@pytest.mark.parametrize("path", ["/campaign?name=none", "/queue?name=none", "/lane?id=7"])
async def test_what_is_not_there_is_told_without_commands(stand: PageStand, path: str) -> None:
    await stand.login()
    page = (await stand.get(path)).content.decode()
    assert "postroad " not in page.partition("<main")[2]


async def test_ages_go_by_the_clock_of_the_server(stand: PageStand) -> None:
    await stand.login()
    before = stand.road.store.clock.now_ms()
    told = re.findall(rb'<html lang="en" data-now="(\d+)"', (await stand.get("/")).content)
    assert before <= int(told[0]) <= stand.road.store.clock.now_ms()


@pytest.mark.parametrize("role", ["read", "operate", "tenant"])
async def test_who_may_not_see_access_is_told_once_and_offered_nothing(
    stand: PageStand, role: str
) -> None:
    await stand.login(role=role, tenant="default")
    answer = await stand.get("/access")
    assert answer.status == 403
    assert answer.content.count(b"for people with the scope admin") == 1
    assert b"<form" not in answer.content


async def test_errors_that_are_not_listed_are_counted(
    stand: PageStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead, "ERRORS_SHOWN", 2)
    for n in range(3):
        await stand.send("bad", n)
    await stand.road.run(until_idle=True)
    await stand.login()
    assert b"the 2 most frequent of 3" in (await stand.get("/dead")).content
