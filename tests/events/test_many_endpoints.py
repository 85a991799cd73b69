"""Making an endpoint costs the same however many there are."""

import hashlib
from collections.abc import Callable

import pytest

from postroad import Postroad
from postroad.verbs.webhooks import LANE_HASHES

HOOK = "http://127.0.0.1:9/hook"


async def statements(road: Postroad, many: int) -> int:
    """How many statements the store runs to make so many endpoints, one after the other."""
    before = sum(road.store.queries.values())
    for n in range(many):
        await road.endpoints.create(f"{HOOK}?{n}", types=("order.*",))
    return sum(road.store.queries.values()) - before


async def test_each_endpoint_takes_the_same_number_of_statements(road: Postroad) -> None:
    await statements(road, 10)
    first, second = await statements(road, 50), await statements(road, 100)
    assert second < 3 * first  # twice, and counts that are read again every ten seconds


async def test_endpoints_of_one_server_and_credential_share_the_slow_hash(
    road: Postroad, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    hashed: list[bytes] = []
    scrypt: Callable[..., bytes] = hashlib.scrypt

    def counted(secret: bytes, **cost: object) -> bytes:
        hashed.append(secret)
        return scrypt(secret, **cost)

    monkeypatch.setattr(hashlib, "scrypt", counted)
    made = [
        await road.endpoints.create(HOOK, headers={"authorization": secret})
        for secret in (mark, mark, f"{mark}2")
    ]
    assert hashed == [mark.encode(), f"{mark}2".encode()]
    assert mark not in repr(LANE_HASHES), "no secret is kept in clear"
    lanes = [(await road.store.find_queue("default", one.queue)) for one in made]
    assert len({queue.lanes for queue in lanes if queue}) == 2
