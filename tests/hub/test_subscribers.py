"""One subscriber a client: order, takeover, fairness, and those who do not read."""

import asyncio
import time
from pathlib import Path

import pytest

from postroad.hub.core import Core
from postroad.hub.frames import message
from postroad.hub.subscriber import Client, Subscription
from postroad.model.errors import HubRefused
from postroad.model.mailbox import Answer, Drop, Get, Heads, HubLimits, Post, Take
from tests.hub.hall import Got, Hall, ack_settle, new_box, recipient, sender
from tests.hub.raw import ask, closed, dial, hear, http
from tests.hub.serving import CREATE, serving, some_boxes


def hall_with(*names: str, **limits: int) -> Hall:
    hall = Hall(HubLimits(**limits))
    hall.create(*[new_box(name) for name in names])
    return hall


def post(hall: Hall, name: str, body: bytes = b"x") -> None:
    hall.core.send(None, Post(name, sender(name), True, body), Got())


def subscribe(hall: Hall, *names: str):  # type: ignore[no-untyped-def]
    client, wire = hall.connect()
    hall.core.subscribe(client, [(name, recipient(name)) for name in names], Got())
    hall.run()
    return client, wire


def test_of_two_senders_that_race_the_order_of_acceptance_is_that_of_delivery() -> None:
    """Both are stored in one commit; the second one's signal must not carry its message."""
    hall = hall_with("a")
    client, wire = subscribe(hall, "a")
    post(hall, "a", b"first")
    post(hall, "a", b"second")
    hall.run()
    assert wire.messages() == [("a", 1)]
    for position in (1, 2):
        hall.core.ack(client, "a", position, ack_settle(wire, "a", position, Got()))
        hall.run()
    assert wire.messages() == [("a", 1), ("a", 2)]


async def test_two_senders_race_over_sockets(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served:
        async with served.client() as one, served.client() as other, served.client() as reader:
            (box,) = await some_boxes(one, 1, quota=1_000)
            await reader.subscribe({box.box: box.recipient_token})
            sent: dict[int, str] = {}

            async def send(client, who: str) -> None:  # type: ignore[no-untyped-def]
                for n in range(100):
                    sent[await client.send(box.box, box.sender_token, f"{who} {n}")] = f"{who} {n}"

            async def receive() -> list[tuple[int, str]]:
                got = []
                for _ in range(200):
                    message = await anext(reader)
                    got.append((message.id, message.text))
                    assert await message.ack()
                return got

            got, _, _ = await asyncio.gather(receive(), send(one, "one"), send(other, "other"))
            assert got == sorted(sent.items()), "in order of acceptance, none twice"


def test_the_oldest_ready_goes_first_and_a_backlog_does_not_jump_the_line() -> None:
    hall = hall_with("deep", "b", "c", dispatch=1)
    client, wire = subscribe(hall, "deep", "b", "c")
    hall.core.pause(client)
    for _ in range(5):
        post(hall, "deep")
    hall.run()
    hall.now_s += 1
    post(hall, "c")
    hall.run()
    hall.now_s += 1
    post(hall, "b")
    hall.run()
    assert list(client.ready) == ["deep", "c", "b"]
    hall.core.resume(client)
    hall.run()
    assert wire.messages() == [("deep", 1), ("c", 1), ("b", 1)]


def test_a_takeover_ends_the_old_one_and_gives_its_unacked_message_to_the_new() -> None:
    hall = hall_with("a")
    old, old_wire = subscribe(hall, "a")
    post(hall, "a")
    hall.run()
    new, new_wire = subscribe(hall, "a")
    assert old_wire.ended() == [("a", "taken over")]
    assert new_wire.messages() == [("a", 1)]
    got = Got()
    hall.core.ack(old, "a", 1, got)
    hall.run()
    assert hall.stored() == {"a": [1]}, "the old one acks nothing any more"
    assert hall.core.takeovers == 1
    assert new.subs.keys() == {"a"}


def test_heads_read_for_an_older_generation_are_not_given_to_a_newer_one() -> None:
    """The same client subscribes again while its head is being read: it comes once."""
    hall = hall_with("a")
    client, wire = hall.connect()
    post(hall, "a")
    hall.run()
    asks = [("a", recipient("a"))]
    hall.core.subscribe(client, asks, Got())
    hall.core.subscribe(client, asks, Got())
    hall.run()
    assert wire.messages() == [("a", 1)]
    hall.core.subscribe(client, asks, Got())
    hall.run()
    assert wire.messages() == [("a", 1), ("a", 1)], "subscribing again asks for it again"


class Carrying(Core):
    """As the seed's proof of concept: what was read for a client goes to it, whoever owns the
    mailbox by then."""

    def _dispatch(
        self, client: Client, picked: list[tuple[Subscription, float]], answer: Answer
    ) -> list[tuple[Subscription, float]]:
        assert isinstance(answer, Heads)
        for (sub, _), letter in zip(picked, answer.letters, strict=True):
            if letter:
                client.link.put(message(sub.name, letter))
        return []


@pytest.mark.parametrize(("kind", "came"), [(Core, []), (Carrying, [("a", 1)])])
def test_ownership_is_checked_when_the_head_has_been_read(
    kind: type[Core], came: list[tuple[str, int]]
) -> None:
    """A newer subscriber takes over while the head is being read for the old one."""
    hall = Hall(kind=kind)
    hall.create(new_box("a"))
    post(hall, "a")
    hall.run()
    old, old_wire = hall.connect()
    new, _ = hall.connect()
    hall.core.subscribe(old, [("a", recipient("a"))], Got())
    hall.turn()
    assert old.reading
    hall.core.subscribe(new, [("a", recipient("a"))], Got())
    hall.turn()
    assert old_wire.ended() == [("a", "taken over")]
    assert old_wire.messages() == came, "without the check the old one gets it after its END"


def test_churn_while_a_client_is_paused_keeps_its_signals_bounded() -> None:
    names = [f"box {n}" for n in range(20)]
    hall = hall_with(*names)
    client, wire = subscribe(hall, *names)
    hall.core.pause(client)
    for _ in range(50):
        for name in names:
            post(hall, name)
        hall.core.unsubscribe(client, names[:10], Got())
        hall.core.subscribe(client, [(name, recipient(name)) for name in names[:10]], Got())
        hall.run()
        assert len(client.ready) <= len(client.subs) == 20
    hall.core.disconnect(client)
    hall.run()
    assert not hall.core.subs
    assert not hall.core.unacked
    assert wire.messages() == []


def test_a_store_that_fails_leaves_every_subscription_able_to_go_on() -> None:
    hall = hall_with("a")
    client, wire = subscribe(hall, "a")
    hall.core.pause(client)
    post(hall, "a")
    hall.run()
    hall.core.resume(client)
    hall.fail()
    assert wire.messages() == []
    assert client.ready.keys() == {"a"}
    assert hall.core.ticks
    hall.core.tick()
    hall.run()
    assert wire.messages() == [("a", 1)]
    got = Got()
    hall.core.ack(client, "a", 1, ack_settle(wire, "a", 1, got))
    hall.fail()
    hall.core.ack(client, "a", 1, ack_settle(wire, "a", 1, got))
    hall.run()
    assert hall.stored() == {"a": []}


def test_a_registration_that_is_settled_after_the_disconnect_leaks_nothing() -> None:
    hall = hall_with("a")
    client, _ = hall.connect()
    hall.core.subscribe(client, [("a", recipient("a"))], Got())
    hall.core.get(client, Get("a", recipient("a")), 30.0, Got())
    hall.core.disconnect(client)
    hall.run()
    assert not hall.core.subs
    assert not hall.core.waiters


def test_a_long_poll_gets_the_next_message_or_an_empty_answer_in_time() -> None:
    hall = hall_with("a")
    got, late = Got(), Got()
    hall.core.get(None, Get("a", recipient("a")), 30.0, got)
    hall.core.get(None, Get("a", recipient("a")), 30.0, late)
    hall.run()
    assert got.answers == []
    post(hall, "a", b"now")
    hall.run()
    assert got.only.letters[0].body == b"now"  # type: ignore[union-attr]
    hall.now_s += 31
    hall.core.tick()
    assert late.only.letters == [None]  # type: ignore[union-attr]
    assert not hall.core.ticks
    hall.core.take(Take("a", 1, recipient("a")), Got())
    hall.core.drop(Drop("a", recipient("a")), Got())
    hall.run()
    assert hall.stored() == {}


async def test_the_answers_to_a_batch_come_before_its_messages(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served, served.client() as client:
        boxes = await some_boxes(client, 50)
        for box in boxes:
            await client.send(box.box, box.sender_token, "x")
        async with dial(served) as ws:
            asked = [[box.box, box.recipient_token] for box in boxes]
            first = await ask(ws, {"do": "sub", "n": 1, "boxes": [*asked, ["no", "no"]]})
            assert first == {"is": "subscribed", "n": 1, "count": 50, "refused": ["no"]}
            got = [await hear(ws) for _ in boxes]
            assert [frame["box"] for frame in got] == [box.box for box in boxes]


async def test_get_and_subscribe_exclude_each_other_on_a_connection(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served:
        async with served.client() as client:
            one, other = await some_boxes(client, 2)
            await client.subscribe({one.box: one.recipient_token})
            with pytest.raises(HubRefused, match="prohibited"):
                await client.get(one.box, one.recipient_token)
            assert await client.get(other.box, other.recipient_token) is None
            assert await client.subscribe({other.box: other.recipient_token}) == [other.box]
            await client.unsubscribe([one.box, other.box])
            assert await client.get(one.box, one.recipient_token) is None
            assert await client.subscribe({other.box: other.recipient_token}) == []


async def test_a_long_poll_over_http(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served, served.client() as client:
        (box,) = await some_boxes(client, 1)
        path = f"/v1/mailboxes/{box.box}/messages"
        poll = asyncio.create_task(http(served, "GET", f"{path}?wait=50", box.recipient_token))
        async with asyncio.timeout(60):
            while not served.hub.core.waiters:
                await asyncio.sleep(0.01)
        sent = await http(served, "POST", path, box.sender_token, b"hi", "text/plain")
        assert sent == (201, {"id": 1})
        status, message = await poll
        assert (status, message["id"], message["body"]) == (200, 1, "hi")
        assert await http(served, "DELETE", f"{path}/1", box.recipient_token) == (200, {"acked": 1})


async def test_a_client_that_stops_reading_is_bounded_and_hurts_nobody(tmp_path: Path) -> None:
    """It has a thousand mailboxes with 8 KiB each, sends commands, and reads nothing."""
    limits = HubLimits(stall_s=1.5)
    async with serving(tmp_path / "hub.db", limits) as served:
        async with served.client() as client, served.client() as other:
            boxes = await asyncio.gather(*[client.create(CREATE) for _ in range(1_000)])
            (fine,) = await some_boxes(client, 1)
            body = b"x" * 8_192
            await asyncio.gather(*[client.send(b.box, b.sender_token, body) for b in boxes])
            ws = await dial(served, max_queue=1)
            for start in range(0, 1_000, 200):
                some = [[b.box, b.recipient_token] for b in boxes[start : start + 200]]
                await ws.send('{"do": "sub", "boxes": ' + str(some).replace("'", '"') + "}")
            stuck = None
            async with asyncio.timeout(60):
                while stuck is None or stuck.paused_since is None:
                    await asyncio.sleep(0.01)
                    stuck = next(
                        (c for c in served.hub.core.clients.values() if len(c.subs) > 100), None
                    )
            await other.subscribe({fine.box: fine.recipient_token})
            for n in range(20):
                await client.send(fine.box, fine.sender_token, str(n))
                assert await (await asyncio.wait_for(anext(other), 60)).ack()
                assert stuck.gone or stuck.link.buffered() < 64 * 1024 + 40 * 12_000
                assert len(stuck.ready) <= 1_000
            async with asyncio.timeout(60):
                while not stuck.gone:
                    await asyncio.sleep(0.05)
            assert not served.hub.core.paused
            ws.transport.abort()
        async with served.client() as reader:
            await reader.subscribe({b.box: b.recipient_token for b in boxes})
            for _ in range(1_000):
                assert (await asyncio.wait_for(anext(reader), 60)).body == body


async def _second_s() -> float:
    """What a second costs of the processor."""
    start = time.process_time()
    await asyncio.sleep(1.0)
    return time.process_time() - start


async def test_idle_clients_cost_no_cpu(tmp_path: Path) -> None:
    """Five hundred subscriptions on fifty sockets: the loop has nothing to do at all."""
    async with serving(tmp_path / "hub.db") as served, served.client() as client:
        boxes = await asyncio.gather(*[client.create(CREATE) for _ in range(500)])
        clients = [served.client() for _ in range(50)]
        for place, one in enumerate(clients):
            await one.open()
            await one.subscribe({b.box: b.recipient_token for b in boxes[place::50]})
        assert not served.hub.core.ticks
        async with asyncio.timeout(60):
            while served.server._timer is not None:
                await asyncio.sleep(0.05)
        commits = served.hub.commits
        # Whatever else this process does, it does not do all the time.
        took_s = [await _second_s()]
        while took_s[-1] >= 0.2 and len(took_s) < 5:
            took_s.append(await _second_s())
        assert took_s[-1] < 0.2, took_s
        assert served.hub.commits == commits
        assert set(served.hub._timers) == {"sweep"}
        for one in clients:
            await one.close()


async def test_what_is_shown_and_why_a_subscription_seems_stuck(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served, served.client() as client:
        box, other = await some_boxes(client, 2, quota=2)
        assert "no such mailbox" in (await served.hub.explain("nobody")).text
        for _ in range(2):
            await client.send(box.box, box.sender_token, "x")
        nobody = await served.hub.explain(box.box)
        assert (nobody.state, nobody.waiting) == ("no subscriber", 2)
        async with served.client() as reader, served.client() as thief:
            await reader.subscribe({b.box: b.recipient_token for b in (box, other)})
            message = await anext(reader)
            with pytest.raises(Exception, match="takes nothing"):
                await client.send(box.box, box.sender_token, "x")
            stuck = await served.hub.explain(box.box)
            assert (stuck.state, stuck.over_quota) == ("waiting for ack", True)
            assert "has message 1 since" in stuck.text
            assert "refused until it is empty" in stuck.text
            assert (await served.hub.explain(other.box)).state == "idle"
            shown = served.hub.status()
            assert (shown.clients, shown.subscriptions, shown.unacked) == (3, 2, 1)
            assert (shown.awaited, shown.pending, shown.takeovers) == (1, 0, 0)
            assert shown.oldest_unacked_s >= 0
            await thief.subscribe({box.box: box.recipient_token})
            assert served.hub.status().takeovers == 1
            assert (await anext(thief)).text == "x"
            assert not await message.ack()
            (taker,) = {s.client for s in served.hub.core.subs.values() if s.name == box.box}
            await thief.unsubscribe([box.box])
            await thief.subscribe({other.box: other.recipient_token})
            served.hub.core.pause(taker)
            await client.send(other.box, other.sender_token, "y")
            paused = await served.hub.explain(other.box)
            assert paused.state == "paused"
            assert "takes nothing since" in paused.text
            shown = served.hub.status()
            assert (shown.pending, shown.busiest[0].client) == (1, taker.number)
            served.hub.core.resume(taker)
            served.hub.wake()
            assert (await asyncio.wait_for(anext(thief), 60)).text == "y"


async def test_a_hub_that_goes_away_says_so(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served:
        ws = await dial(served)
        await ask(ws, '{"do": "unsub", "boxes": []}')
    assert await closed(ws) == (1001, "the hub goes away")
