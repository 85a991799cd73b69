"""A message keeps its recipient over a copy, and inside a caller's transaction."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from postroad import Receipt
from postroad.model.states import State
from postroad.stores.copying import copy
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import local, numbers, running
from tests.channels.test_single_messages import HELLO, ended
from tests.servers.postgres import PrivatePostgres

Within = Callable[[Any], Any]


@pytest.mark.wide
def test_a_copied_road_sends_to_the_same_recipients(
    server: PrivatePostgres,
    provider: Provider,
    tmp_path: Path,
    within: Within,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, there, people = f"sqlite:///{tmp_path}/road.db", server.create_road(), numbers(3)

    async def sent() -> list[Receipt]:
        async with local(here) as road:
            await road.credentials.put("sms", provider.spec(), TOKEN)
            return [await road.send(f"sms:{number}", HELLO) for number in people]

    async def delivered(receipts: list[Receipt]) -> None:
        await copy(here, there, lambda *_: None)
        async with running(local(there)) as road:
            for receipt, number in zip(receipts, people, strict=True):
                await ended(road, receipt, State.delivered)
                assert (await road.explain(receipt.id)).recipient == number

    receipts = within(sent())
    monkeypatch.setenv("POSTROAD_KEYS_FILE", str(tmp_path / "road.db.keys"))
    within(delivered(receipts))
    assert provider.taken() == Counter(people)


def test_a_text_that_is_sent_in_a_callers_transaction_names_its_recipient(
    server: PrivatePostgres, provider: Provider, within: Within
) -> None:
    dsn = server.create_road()
    (number,) = numbers(1)

    async def story() -> None:
        async with running(local(dsn)) as road:
            await road.credentials.put("sms", provider.spec(), TOKEN)
            raw = await asyncpg.connect(dsn)
            async with raw.transaction():
                receipt = await road.send_in(raw, f"sms:{number}", HELLO)
            await raw.close()
            await ended(road, receipt, State.delivered)
            assert (await road.explain(receipt.id)).recipient == number

    within(story())
    assert provider.taken() == Counter([number])
