"""The mailboxes' part of the store's contract, on SQLite and PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from postroad.model.mailbox import (
    DENIED,
    FULL,
    Create,
    Done,
    Drop,
    Expire,
    Get,
    Heads,
    Op,
    Peek,
    Post,
    Posted,
    Refused,
    Take,
    Taken,
    Watch,
    Watched,
)
from postroad.ports.clock import SystemClock
from postroad.ports.mailboxes import Mailboxes
from postroad.stores.postgres.store import PostgresStore
from postroad.stores.sqlite.store import SqliteStore
from tests.hub.hall import new_box, position_of, recipient, sender
from tests.hub.serving import CREATE, serving

HOUR_MS = 3_600_000


class Place:
    """Where a store is, so that it can be opened again."""

    def __init__(self, path: Path | None, dsn: str = "") -> None:
        self.path = path
        self.dsn = dsn
        self.queries: dict[str, int] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Mailboxes]:
        store: SqliteStore | PostgresStore
        if self.path is not None:
            store = SqliteStore(self.path, SystemClock())
        else:
            store = PostgresStore(self.dsn, SystemClock())
        await store.open()
        try:
            yield store
        finally:
            self.queries = store.queries
            await store.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place(tmp_path / "hub.db")
    return Place(None, request.getfixturevalue("server").create_road())


def post(name: str, body: bytes = b"x") -> Post:
    return Post(name, sender(name), False, body)


async def test_one_batch_is_decided_in_order(place: Place) -> None:
    async with place.open() as store:
        await store.hub_lead()
        ops: list[Op] = [
            Create(new_box("a", quota=2)),
            post("a", b"1"),
            Get("a", recipient("a")),
            post("a", b"2"),
            post("a", b"3"),
            Take("a", 2),
            Take("a", 1),
            Watch([("a", sender("a")), ("a", recipient("a"))]),
            Take("a", 2, recipient("a")),
            Watch([("a", sender("a"))]),
            Take("a", 1),
            post("a", b"4"),
            Peek(["a", "nobody's"]),
            Drop("a", sender("a")),
            Drop("a", recipient("a")),
            post("a"),
        ]
        answers = await store.box_commit(ops)
        assert [type(answer) for answer in answers[:2]] == [Done, Posted]
        got, second, third, early, first = answers[2:7]
        assert isinstance(got, Heads)
        assert got.letters[0] is not None
        assert (got.letters[0].position, got.letters[0].body) == (1, b"1")
        assert (position_of(second), third) == (2, FULL)
        assert isinstance(early, Refused)
        assert isinstance(first, Taken)
        assert first.next is not None
        assert first.next.body == b"2"
        assert answers[7] == Watched([False, None])
        assert answers[8] == Taken(reopened=True, tenant="default")
        assert answers[9] == Watched([True])
        assert answers[10] == Taken(tenant="default"), "acked twice: nothing more is deleted"
        assert position_of(answers[11]) == 3, "positions are never used again"
        peeked = answers[12]
        assert isinstance(peeked, Heads)
        assert peeked.letters[0] is not None
        assert peeked.letters[1] is None
        assert answers[13:] == [DENIED, Done(), DENIED]


async def test_a_restart_restores_mailboxes_messages_and_who_is_over_quota(place: Place) -> None:
    async with place.open() as store:
        await store.hub_lead()
        ops: list[Op] = [Create(new_box(name, quota=2)) for name in ("full", "some", "none")]
        ops += [post("full", b"1"), post("full", b"2"), post("full"), Take("full", 1), post("some")]
        assert FULL in await store.box_commit(ops)
        await store.hub_unlead()
    async with place.open() as store:
        await store.hub_lead()
        asks = [(name, recipient(name)) for name in ("full", "some", "none", "unknown")]
        assert (await store.box_look(asks)).waiting == [1, 1, 0, None]
        watched, refused, heads = await store.box_commit(
            [
                Watch([(name, sender(name)) for name in ("full", "some", "unknown")]),
                post("full"),
                Peek(["full"]),
            ]
        )
        assert watched == Watched([False, True, None])
        assert refused == FULL
        assert isinstance(heads, Heads)
        assert heads.letters[0] is not None
        assert heads.letters[0].body == b"2"
        assert [row[:2] for row in await store.box_page("default", "", 2)] == [
            ("full", 1),
            ("none", 0),
        ]


async def test_what_is_too_old_is_neither_read_nor_kept(place: Place) -> None:
    async with place.open() as store:
        await store.hub_lead()
        await store.box_commit([Create(new_box("short", ttl_ms=1)), Create(new_box("long"))])
        await store.box_commit([post("short"), post("short"), post("long")])
        while len(await store.box_old(10)) < 1:
            await asyncio.sleep(0.01)
        (heads,) = await store.box_commit([Peek(["short", "long"])])
        assert isinstance(heads, Heads)
        assert heads.stale
        assert heads.letters[0] is None
        assert heads.letters[1] is not None
        old = await store.box_old(10)
        assert old == [("short", 2)]
        assert await store.box_commit([Expire(*old[0])]) == [Done(left=0)]
        assert await store.box_old(10) == []


async def test_a_batch_of_subscriptions_is_one_question(place: Place) -> None:
    async with place.open() as store:
        await store.hub_lead()
        await store.box_commit([Create(new_box(f"box {n}")) for n in range(300)])
        await store.box_commit([post(f"box {n}") for n in range(0, 300, 2)])
        before = dict(store.queries)  # type: ignore[attr-defined]
        found = await store.box_look([(f"box {n}", recipient(f"box {n}")) for n in range(300)])
        assert found.waiting == [1, 0] * 150
        after: dict[str, int] = store.queries  # type: ignore[attr-defined]
        asked = sum(after.values()) - sum(before.values())
        assert asked == 1
        (heads,) = await store.box_commit([Peek([f"box {n}" for n in range(300)])])
        assert isinstance(heads, Heads)
        assert sum(letter is not None for letter in heads.letters) == 150


async def test_traffic_over_sockets(place: Place, tmp_path: Path) -> None:
    async with place.open() as store, serving(tmp_path, store=store) as served:
        async with served.client() as sender_, served.client() as recipient_:
            boxes = [await sender_.create(CREATE) for _ in range(20)]
            await recipient_.subscribe({box.box: box.recipient_token for box in boxes})
            sends = [
                sender_.send(box.box, box.sender_token, f"{box.box} {n}")
                for n in range(5)
                for box in boxes
            ]
            await asyncio.gather(*sends)
            got: dict[str, list[str]] = {}
            for _ in range(100):
                message = await anext(recipient_)
                got.setdefault(message.box, []).append(message.text)
                assert await message.ack()
            assert got == {box.box: [f"{box.box} {n}" for n in range(5)] for box in boxes}
