"""What each button does, through the pages' own forms."""

import asyncio
import re
from typing import Any

import pytest

from postroad.dashboard import rendering
from postroad.dashboard.asking import PageApi
from postroad.dashboard.jobs import KEPT_MAX
from postroad.verbs import explaining
from tests.dashboard.stand import PageStand


async def act(stand: PageStand, path: str, **fields: str | list[str]) -> Any:
    """Send a form as a script does; what was said."""
    answer = await stand.post(path, {"postroad-fetch": "1"}, **fields)
    assert answer.status == 200, answer.content
    if "json" not in answer.headers["content-type"]:
        return answer.content.decode()
    assert not answer.json()["bad"], answer.json()
    return answer.json()["notice"]


async def ended(stand: PageStand, number: str, state: str) -> None:
    """Deliver until a message is so."""
    async with asyncio.timeout(60):
        await stand.road.run(until_idle=True)
        assert (await stand.road.explain(number)).state == state


async def test_a_dead_message_is_replayed_and_sent_again(stand: PageStand) -> None:
    await stand.login()
    number = await stand.send("bad")
    await ended(stand, number, "dead")
    assert "once more" in await act(stand, "/message/replay", id=number, mode="once")
    assert (await stand.road.explain(number)).state == "waiting"
    await ended(stand, number, "dead")
    assert "new message" in await act(stand, "/message/again", id=number)
    assert "1 message sent again" in await act(stand, "/messages/again", id=number)
    assert "tick" in await act(stand, "/messages/again")


async def test_chosen_messages_are_cancelled_side_by_side(
    stand: PageStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stand.login()
    numbers = [await stand.send("good") for _ in range(3)]
    begun, delete = asyncio.Barrier(len(numbers)), PageApi.delete

    async def together(self: PageApi, path: str, **query: object) -> Any:
        async with asyncio.timeout(20):  # each may wait for a try to end
            await begun.wait()
        return await delete(self, path, **query)

    monkeypatch.setattr(PageApi, "delete", together)
    assert "3 messages cancelled" in await act(stand, "/messages/cancel", id=numbers)


async def test_messages_are_cancelled_one_chosen_and_all(stand: PageStand) -> None:
    await stand.login()
    numbers = [await stand.send("good") for _ in range(4)]
    assert "Cancelled" in await act(stand, "/message/cancel", id=numbers[0])
    assert "1 message cancelled" in await act(stand, "/messages/cancel", id=numbers[1])
    asked = await act(stand, "/messages/cancel-all", queue="good")
    assert "Cancel 2 unfinished messages of good?" in asked
    await act(stand, "/messages/cancel-all", queue="good", count="2")
    async with asyncio.timeout(60):
        while (await stand.road.explain(numbers[3])).state != "cancelled":
            await asyncio.sleep(0.01)


async def test_an_uncertain_message_is_settled(stand: PageStand) -> None:
    await stand.login()
    number = await stand.send("doubtful")
    await ended(stand, number, "uncertain")
    assert b"It was sent" in (await stand.get(f"/messages/{number}")).content
    assert "it was sent" in await act(stand, "/message/settle", id=number, outcome="sent")
    assert (await stand.road.explain(number)).state == "delivered"


async def test_the_dead_set_is_replayed_as_a_job_after_a_question(stand: PageStand) -> None:
    await stand.login()
    number = await stand.send("bad")
    await ended(stand, number, "dead")
    asked = await act(stand, "/dead/replay", which="all", reason="rejected")
    assert "Try 1 dead message again?" in asked
    await act(stand, "/dead/replay", which="given", reason="rejected", count="1")
    async with asyncio.timeout(60):
        while (await stand.road.explain(number)).state != "waiting":
            await asyncio.sleep(0.01)
    assert "tick" in await act(stand, "/dead/purge", which="chosen")


async def test_without_a_filter_all_that_is_shown_is_meant(stand: PageStand) -> None:
    await stand.login()
    for number in [await stand.send("bad") for _ in range(2)]:
        await ended(stand, number, "dead")
    assert "Try 2 dead messages again?" in await act(stand, "/dead/replay", which="all")
    assert "Delete 2 dead messages for good?" in await act(stand, "/dead/purge", which="all")
    for path in ("/messages/again-all", "/dead/purge", "/dead/replay", "/messages/cancel-all"):
        assert "nothing to do" in await act(stand, path, queue="good", which="all"), path
    await act(stand, "/dead/purge", which="given", count="2")
    async with asyncio.timeout(60):
        while (await stand.road.dead.list()).messages:
            await asyncio.sleep(0.01)


async def test_queues_and_lanes_are_paused_limited_and_resumed(stand: PageStand) -> None:
    await stand.login()
    number = await stand.send("good")
    assert "At most 5/s" in await act(stand, "/queues/limit", queue="good", rate="5/s")
    assert "lifted" in await act(stand, "/queues/limit", queue="good", rate="")
    lane = str((await stand.road.explain(number)).lane)
    assert "paused" in await act(stand, "/lanes/pause", lane=lane)
    assert b"paused" in (await stand.get(f"/lane?id={lane}")).content
    assert "goes on" in await act(stand, "/lanes/resume", lane=lane)
    assert b"good has 1 waiting" in (await stand.get("/queue?name=good")).content


async def test_an_endpoint_is_made_disabled_enabled_and_its_secret_rotated(
    stand: PageStand,
) -> None:
    await stand.login()
    url = "https://93.184.216.34/hook"
    made = await act(stand, "/endpoints/create", url=url, types="a.b, c.d", description="Books")
    assert "whsec_" in made
    ((one,), _) = ((await stand.road.endpoints.list()).endpoints, 0)
    assert one.types == ("a.b", "c.d")
    assert "held" in await act(stand, "/endpoints/disable", id=one.id, reason="by hand")
    assert b"disabled" in (await stand.get(f"/endpoints/{one.id}")).content
    assert "Enabled" in await act(stand, "/endpoints/enable", id=one.id)
    assert "whsec_" in await act(stand, "/endpoints/rotate", id=one.id)
    assert "0 messages" in await act(stand, "/endpoints/recover", id=one.id)
    assert b"whsec_" not in (await stand.get(f"/endpoints/{one.id}")).content


async def test_a_test_event_goes_to_an_endpoint(stand: PageStand) -> None:
    await stand.login()
    made = await stand.road.endpoints.create("https://hooks.example.com/a", types=("order.paid",))
    page = (await stand.get(f"/endpoints/{made.id}")).content.decode()
    assert "Send test event" in page
    said = await act(stand, "/endpoints/test", id=made.id)
    found = (await stand.road.messages.list(queue=made.queue)).messages
    assert [one.id for one in found] == [re.findall(r"message (\S+)\.", said)[0]]
    assert "order.paid" in said


async def test_what_has_no_body_any_more_is_not_offered_to_be_sent_again(stand: PageStand) -> None:
    await stand.login()
    number = await stand.send("good")
    await ended(stand, number, "delivered")
    assert b"/message/again" not in (await stand.get(f"/messages/{number}")).content
    dead = await stand.send("bad")
    await ended(stand, dead, "dead")
    assert b"/message/again" in (await stand.get(f"/messages/{dead}")).content


async def test_a_members_batch_is_told_on_its_page(stand: PageStand) -> None:
    await stand.login()
    sent = await stand.road.batches.batch([("good", 1), ("good", 2)], then=("good", 3))
    page = (await stand.get(f"/messages/{sent.messages[0].id}")).content.decode()
    assert sent.id in page
    assert "2: 0 delivered, 0 dead, 0 cancelled" in page
    alone = (await stand.get(f"/messages/{await stand.send()}")).content.decode()
    assert "<h2>Batch</h2>" not in alone


async def test_limits_mailboxes_and_rules(stand: PageStand) -> None:
    await stand.login()
    await act(stand, "/limits/put", name="slow", lanes="smtp:*", rate="5/s")
    assert b"slow" in (await stand.get("/limits?answer=421+4.7.28+x")).content
    await act(stand, "/limits/lift", name="slow", tenant="default")
    assert await stand.road.limits.list() == []
    made = await act(stand, "/mailboxes/create", quota="7")
    box = re.findall(r"Mailbox ([\w-]+)", made)[0]
    assert box.encode() in (await stand.get("/mailboxes")).content
    assert "deleted" in await act(stand, "/mailboxes/delete", box=box)


async def test_tokens_and_people(stand: PageStand) -> None:
    await stand.login()
    made = await act(stand, "/access/make", name="ci", role="read", days="3")
    assert "prt_" in made
    (token,) = [one for one in await stand.road.tokens.list() if one.name == "ci"]
    await act(stand, "/access/revoke", id=token.id)
    assert "ci" not in {one.name for one in await stand.road.tokens.list()}
    link = await act(stand, "/access/invite", name="Bob", role="read")
    code = re.findall(r"code=(prt_[\w-]+)", link)[0]
    session = await stand.road.sessions.open(code)
    assert "ended" in await act(stand, "/access/end", id=session.token.id)
    await stand.login(role="operate", tenant="*")
    assert b"/access" not in (await stand.get("/")).content
    refused = await stand.post("/access/make", {"postroad-fetch": "1"}, name="x", role="read")
    assert refused.json()["bad"]


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/access/make", {"name": "x", "role": "read", "days": "ten"}),
        ("/lanes/pause", {"lane": "x"}),
        ("/lanes/pause", {"lane": "9" * 5_000}),
        ("/mailboxes/create", {"quota": "-1"}),
        ("/messages/again-all", {"level": "high"}),
        ("/messages/again-all", {"count": "1.5"}),
        ("/dead/purge", {"count": "all"}),
    ],
)
async def test_what_is_no_number_is_told_in_place(
    stand: PageStand, path: str, fields: dict[str, str]
) -> None:
    await stand.login()
    refused = await stand.post(path, {"postroad-fetch": "1"}, **fields)
    assert refused.json()["bad"]
    assert "is no whole number" in refused.json()["notice"]


async def test_every_refusal_of_a_quiet_form_is_told_in_place(stand: PageStand) -> None:
    await stand.login()
    quiet = {"postroad-fetch": "1"}
    many = await stand.post("/queues/pause", quiet, **{f"f{n}": "x" for n in range(5_001)})
    nothing = await stand.post("/queues/pause", quiet)
    elsewhere = await stand.post("/queues/pause", quiet | {"origin": "http://evil.example"})
    assert [answer.status for answer in (many, nothing, elsewhere)] == [400, 400, 403]
    told = [answer.json()["notice"] for answer in (many, nothing, elsewhere)]
    for text, words in zip(told, ("at most 5000", "queue is empty", "are refused"), strict=True):
        assert words in text


async def test_cancelling_all_asks_again_when_more_have_come(stand: PageStand) -> None:
    await stand.login()
    _ = [await stand.send("good") for _ in range(3)]
    asked = await act(stand, "/messages/cancel-all", queue="good", count="2")
    assert "Cancel 3 unfinished messages of good?" in asked
    assert b"<h2>Jobs</h2>" not in (await stand.get("/messages")).content


async def test_cancelling_more_than_were_counted_asks_about_all(
    stand: PageStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (explaining, rendering):
        monkeypatch.setattr(place, "COUNTED_MAX", 3)
    await stand.login()
    numbers = [await stand.send("good") for _ in range(5)]
    asked = await act(stand, "/messages/cancel-all", queue="good", count="2")
    (counted,) = re.findall(r"sentence.>Cancel all unfinished messages \((\d) or more\)", asked)
    assert f"Cancel all messages ({counted} or more)" in asked
    said = await act(stand, "/messages/cancel-all", queue="good", count=counted)
    assert said == f"Cancelling all unfinished messages ({counted} or more) of good has begun."
    await ended(stand, numbers[4], "cancelled")


async def test_a_job_that_the_api_refuses_is_told_in_place_and_not_listed(
    stand: PageStand,
) -> None:
    await stand.login(role="read")
    number = await stand.send("bad")
    await ended(stand, number, "dead")
    quiet = {"postroad-fetch": "1"}
    for path in ("/dead/replay", "/dead/purge"):
        refused = await stand.post(path, quiet, which="given", reason="rejected", count="1")
        assert refused.json()["bad"]
        assert "manage" in refused.json()["notice"]
    assert b"<h2>Jobs</h2>" not in (await stand.get("/dead")).content
    await stand.login()
    await act(stand, "/dead/purge", which="given", reason="rejected", count="1")
    assert b"<h2>Jobs</h2>" in (await stand.get("/dead")).content


async def test_a_job_that_breaks_before_it_begins_is_told_in_place(
    stand: PageStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(PageApi, "follow", broken)
    await stand.login()
    quiet = {"postroad-fetch": "1"}
    answer = await stand.post("/dead/purge", quiet, which="given", reason="rejected", count="1")
    assert answer.json()["bad"]
    assert b"<h2>Jobs</h2>" not in (await stand.get("/dead")).content


async def test_many_jobs_of_one_tenant_hide_none_of_another(stand: PageStand) -> None:
    await stand.login()
    _ = await stand.road.tenants.create("acme")
    for tenant, count in (("acme", 1), ("default", KEPT_MAX + 1)):
        await stand.post("/tenant", tenant=tenant)
        for _ in range(count):
            await act(stand, "/dead/purge", which="given", reason="rejected", count="1")
    assert b"<h2>Jobs</h2>" in (await stand.get("/dead")).content
    await stand.post("/tenant", tenant="acme")
    assert b"<h2>Jobs</h2>" in (await stand.get("/dead")).content
