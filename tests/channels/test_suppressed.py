"""Single messages to recipients on a suppression list are not sent; who only unsubscribed gets
them."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import pytest

from postroad.model.entities import LaneKey, Message
from postroad.model.errors import BadInput, StoreUnavailable
from postroad.model.outcome import Outcome
from postroad.model.recipients import addressed
from postroad.model.states import State
from postroad.model.suppression import Reason
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.transports.suppression_gate import SuppressionGate
from tests.campaigns.provider import Provider
from tests.campaigns.stories import numbers
from tests.channels.test_single_messages import HELLO, ended, opened

Within = Callable[[Any], Any]
PEOPLE = numbers(6)


def test_a_bounce_a_complaint_or_a_hand_holds_back_and_an_unsubscription_does_not(
    dsn: str, provider: Provider, within: Within
) -> None:
    async def story() -> None:
        async with opened(dsn, provider) as road:
            reasons = ("hard_bounce", "complaint", "by_hand", "unsubscribed")
            for number, reason in zip(PEOPLE, reasons, strict=False):
                await road.suppressions.add(number, reason)
            await road.suppressions.add(PEOPLE[4], tenant="*")
            await road.suppressions.add(PEOPLE[5], tenant="other")
            receipts = await road.send_many([(f"sms:{number}", HELLO) for number in PEOPLE])
            states = [State.dead] * 3 + [State.delivered, State.dead, State.delivered]
            for receipt, state in zip(receipts, states, strict=True):
                await ended(road, receipt, state)
            dead = await road.dead.show(receipts[1].id)
            assert "on a suppression list (complaint)" in dead.message.error
            assert provider.taken() == Counter([PEOPLE[3], PEOPLE[5]])
            # Named, a reason does not count; taken off the list, the dead message can be replayed.
            despite = {**HELLO, "despite": ["complaint"]}
            await ended(road, await road.send(f"sms:{PEOPLE[1]}", despite), State.delivered)
            await ended(road, await road.send(f"sms:{PEOPLE[0]}", despite), State.dead)
            await road.suppressions.remove(PEOPLE[0])
            assert await road.dead.replay(ids=[receipts[0].id]) == 1
            await ended(road, receipts[0], State.delivered)
            with pytest.raises(BadInput, match="despite"):
                await road.send(f"sms:{PEOPLE[1]}", {**HELLO, "despite": ["spite"]})

    within(story())
    assert provider.taken() == Counter([PEOPLE[i] for i in (0, 1, 3, 5)])


def test_a_list_that_cannot_be_read_delays_and_loses_nothing(
    provider: Provider, tmp_path: Any, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, asked = numbers(50), list[str]()

    async def story() -> None:
        async with opened(f"sqlite:///{tmp_path}/road.db", provider) as road:
            ask, failures = road.store.suppressed, iter([True])

            async def counted(tenant: str, recipients: list[str]) -> Any:
                if next(failures, False):
                    raise StoreUnavailable("away")
                asked.extend(recipients)
                return await ask(tenant, recipients)

            monkeypatch.setattr(road.store, "suppressed", counted)
            receipts = await road.send_many([(f"sms:{number}", HELLO) for number in people])
            for receipt in receipts:
                await ended(road, receipt, State.delivered)

    within(story())
    assert provider.taken() == Counter(people)
    assert len(asked) == 50


def test_what_begins_together_asks_in_one_statement(within: Within) -> None:
    """In one turn of the loop, for each tenant."""
    people = [f"sms:{number}" for number in numbers(50)]
    asked: list[tuple[str, list[str]]] = []

    class Lists:
        async def suppressed(self, tenant: str, recipients: list[str]) -> dict[str, Reason]:
            asked.append((tenant, recipients))
            return {people[7]: Reason.complaint}

    async def story() -> list[Outcome | None]:
        gate = SuppressionGate(cast("Any", Lists()), SystemClock(), make_log("critical"))
        lanes = [LaneKey("sms", "main", tenant=name) for name in ("one", "other")]
        sends = [
            gate.holds(lane, Message(1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1 << 62, b"{}", addressed(to)))
            for lane in lanes
            for to in people
        ]
        return await asyncio.gather(*sends)

    held = within(story())
    assert asked == [("one", people), ("other", people)]
    assert [place for place, outcome in enumerate(held) if outcome] == [7, 57]
