"""A rule that suppresses: the recipient is on the list before its message is recorded."""

import asyncio
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from postroad.model.answer_rules import AnswerRule
from postroad.model.entities import LaneKey, Message
from postroad.model.errors import StoreUnavailable
from postroad.model.outcome import Kind, Outcome, ProviderAnswer, failed, unknown
from postroad.model.recipients import addressed
from postroad.model.ruling import RuleAction
from postroad.model.suppression import Reason
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.rules.rule_book import RuleBook
from postroad.stores.sqlite.store import SqliteStore

LANE = LaneKey("sms", "main", "main", tenant="acme")
MESSAGE = Message(7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, b"{}", addressed("+6591234567"))
LOG = make_log("critical")


def answer(code: str) -> Outcome:
    return replace(failed(f"no: {code}", status=400), provider=ProviderAnswer("", code))


async def opened(path: Path) -> SqliteStore:
    store = SqliteStore(path / "road.db", SystemClock())
    await store.open()
    return store


def test_a_shipped_rule_suppresses_for_its_reason(tmp_path: Path) -> None:
    async def story() -> None:
        store = await opened(tmp_path)
        found = await RuleBook(store, LOG).apply(LANE, 1, MESSAGE, answer("21610"))
        assert found.kind is Kind.rejected
        assert await store.suppressed("acme", ["+6591234567"]) == {
            "+6591234567": Reason.unsubscribed
        }
        assert await store.suppressed("default", ["+6591234567"]) == {}
        await store.close()

    asyncio.run(story())


def test_a_store_that_is_away_is_asked_until_it_has_the_recipient(tmp_path: Path) -> None:
    async def story() -> None:
        store = await opened(tmp_path)
        suppress, asked = store.suppress, []

        async def away_once(entries: Any) -> int:
            asked.append(entries)
            if len(asked) == 1:
                raise StoreUnavailable("simulated: the store was away")
            return await suppress(entries)

        store.suppress = away_once  # type: ignore[method-assign]
        book = RuleBook(store, LOG)
        async with asyncio.timeout(60):
            _ = await book.apply(LANE, 1, MESSAGE, answer("21211"))
        assert len(asked) == 2
        assert await store.suppressed("acme", ["+6591234567"]) == {
            "+6591234567": Reason.hard_bounce
        }
        await store.close()

    asyncio.run(story())


def test_who_may_have_been_delivered_to_is_never_ruled_on(tmp_path: Path) -> None:
    async def story() -> None:
        store = await opened(tmp_path)
        rule = AnswerRule("all", "*", RuleAction.suppress, text=".", tenant="acme")
        await store.put_rule(rule, 1)
        book = RuleBook(store, LOG)
        for outcome in (
            unknown("no answer: 21610"),
            Outcome(Kind.later, "later"),
            Outcome(Kind.delivered),
        ):
            assert await book.apply(LANE, 1, MESSAGE, outcome) is outcome
        assert await store.suppressed("acme", ["+6591234567"]) == {}
        nobody = replace(MESSAGE, headers=b"")
        found = await book.apply(LANE, 1, nobody, answer("1"))
        assert found.kind is Kind.rejected
        await store.close()

    asyncio.run(story())
