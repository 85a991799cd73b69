"""What is stored about a recipient that messages name is exported and erased, and nothing else."""

from collections.abc import Callable
from typing import Any

import msgspec

from postroad import Postroad
from postroad.model.states import State
from tests.campaigns.provider import Provider
from tests.campaigns.stories import numbers, until
from tests.channels.test_single_messages import HELLO, ended, opened

Within = Callable[[Any], Any]
TAKEN, REFUSED, SILENT, OTHER = (
    numbers(2, prefix) for prefix in ("+1600", "+1511", "+1514", "+17")
)


async def exported(road: Postroad, recipient: str) -> list[dict[str, Any]]:
    pieces = [piece async for piece in road.privacy.export(recipient=recipient)]
    return [msgspec.json.decode(line) for line in b"".join(pieces).splitlines()]


def test_a_recipient_is_found_and_erased_wherever_its_messages_are(
    dsn: str, provider: Provider, within: Within
) -> None:
    states = {TAKEN[0]: "history", REFUSED[0]: "dead", SILENT[0]: "message"}

    async def story() -> None:
        async with opened(dsn, provider) as road:
            for n in range(2):  # the second of each kind is somebody else's
                for number, state in zip(
                    (TAKEN[n], REFUSED[n], SILENT[n]),
                    (State.delivered, State.dead, State.uncertain),
                    strict=True,
                ):
                    key = f"key {number}"
                    await ended(road, await road.send(f"sms:{number}", HELLO, key=key), state)
            for number, kind in states.items():
                lines = await exported(road, f"sms:{number}")
                assert kind in {line["kind"] for line in lines}
                assert number in msgspec.json.encode(lines).decode()
                assert not any(
                    other in msgspec.json.encode(lines).decode()
                    for other in (TAKEN[1], REFUSED[1], SILENT[1])
                )
                job = await road.privacy.erase(recipient=number)
                done = await road.privacy.erasure(job.id, wait=30)
                assert done.is_done
                assert done.erased["message_recipient"] == 1
                assert done.erased["idempotency"] == 1
                # Shipped rules suppress a number that does not exist: a digest of it stays.
                stays = await exported(road, number)
                assert {line["kind"] for line in stays} <= {"suppression"}
                assert all(line["recipient"].startswith("sha256:") for line in stays)
                assert await road.store.sent_to("default", number, 0, 10) == []
            left = {one.recipient for one in (await road.messages.list()).messages}
            assert left == {TAKEN[1], REFUSED[1], SILENT[1]}

    within(story())


def test_what_waits_for_a_recipient_is_cancelled_before_it_is_erased(
    dsn: str, provider: Provider, within: Within
) -> None:
    async def story() -> None:
        async with opened(dsn, provider) as road:
            await road.pause("sms:sms")
            for number in OTHER:
                await road.send(f"sms:{number}", HELLO)
            job = await road.privacy.erase(recipient=OTHER[0])
            assert (await road.privacy.erasure(job.id, wait=30)).is_done
            await road.resume("sms:sms")
            (left,) = (await road.messages.list()).messages
            assert left.recipient == OTHER[1]

            async def arrived() -> bool:
                return bool(provider.arrivals())

            await until(arrived)

    within(story())
    assert list(provider.taken()) == [OTHER[1]]
