"""Single text messages: the recipient is in the message, the queue is the credential's."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad, Receipt
from postroad.model.credential import BadCredential
from postroad.model.errors import BadInput
from postroad.model.recipients import TO
from postroad.model.states import DeadReason, State
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import local, numbers, running, until

Within = Callable[[Any], Any]
HELLO = {"text": "Hello"}


@asynccontextmanager
async def opened(dsn: str, provider: Provider, **spec: object) -> AsyncIterator[Postroad]:
    """A road with a credential for each channel, which runs."""
    async with running(local(dsn)) as road:
        for name in ("sms", "whatsapp"):
            await road.credentials.put(name, provider.spec(**spec), TOKEN, kind=name)
        yield road


async def ended(road: Postroad, receipt: Receipt, state: State) -> None:
    async def there() -> bool:
        return (await road.explain(receipt.id)).state is state

    await until(there)


def test_a_text_is_delivered_and_its_recipient_shown(
    dsn: str, provider: Provider, within: Within
) -> None:
    async def story() -> None:
        async with opened(dsn, provider) as road:
            sms = await road.send("sms:+65 9123 4567", HELLO)
            chat = await road.send("whatsapp:6591234568", HELLO, credential="whatsapp")
            assert (sms.queue, chat.queue) == ("sms:sms", "whatsapp:whatsapp")
            for receipt, number in ((sms, "+6591234567"), (chat, "+6591234568")):
                await ended(road, receipt, State.delivered)
                assert (await road.explain(receipt.id)).recipient == number
            listed = (await road.messages.list()).messages
            assert {one.recipient for one in listed} == {"+6591234567", "+6591234568"}

    within(story())
    assert provider.taken() == Counter(["+6591234567", "whatsapp:+6591234568"])


@pytest.mark.wide
def test_many_addresses_make_one_queue(dsn: str, provider: Provider, within: Within) -> None:
    people = numbers(300)

    async def story() -> None:
        async with opened(dsn, provider) as road:
            before = [one.queue for one in await road.store.queue_page("default", "", 1_000)]
            await road.send_many([(f"sms:{number}", HELLO) for number in people])

            async def all_there() -> bool:
                return len(provider.arrivals()) >= len(people)

            await until(all_there)
            after = [one.queue for one in await road.store.queue_page("default", "", 1_000)]
            assert after == before == ["sms:sms", "whatsapp:whatsapp"]

    within(story())
    assert provider.taken() == Counter(people)


def test_what_was_perhaps_sent_is_uncertain_and_never_sent_again_by_itself(
    dsn: str, provider: Provider, within: Within
) -> None:
    silent = numbers(1, "+1514")[0]

    async def story() -> None:
        async with opened(dsn, provider) as road:
            receipt = await road.send(f"sms:{silent}", HELLO)
            await ended(road, receipt, State.uncertain)
            assert (await road.explain(receipt.id)).recipient == silent
            await asyncio.sleep(0.3)
            assert provider.taken() == Counter([silent])
            await road.settle(receipt.id, "sent")
            assert (await road.explain(receipt.id)).state is State.delivered

    within(story())
    assert provider.taken() == Counter([silent])


def test_a_number_that_is_refused_for_ever_is_dead_and_replayed_with_its_recipient(
    dsn: str, provider: Provider, within: Within
) -> None:
    bad = numbers(1, "+1511")[0]

    async def story() -> None:
        async with opened(dsn, provider) as road:
            receipt = await road.send(f"sms:{bad}", HELLO)
            await ended(road, receipt, State.dead)
            (dead,) = (await road.dead.list()).messages
            assert (dead.recipient, dead.reason) == (bad, DeadReason.rejected)
            assert (await road.dead.show(receipt.id)).headers[TO] == bad
            assert await road.suppressions.remove(bad) == 1  # where a shipped rule has put it
            assert await road.dead.replay(ids=[receipt.id]) == 1

            async def again() -> bool:
                return len(provider.arrivals()) == 2

            await until(again)
            await ended(road, receipt, State.dead)
            assert (await road.explain(receipt.id)).recipient == bad
            assert await road.dead.purge(ids=[receipt.id]) == 1
            assert await road.store.sent_to("default", bad, 0, 10) == []

    within(story())
    assert {one.number for one in provider.arrivals()} == {bad}


def test_a_throttle_holds_the_queue_and_spends_no_level(
    dsn: str, provider: Provider, within: Within
) -> None:
    async def story() -> None:
        async with opened(dsn, provider) as road:
            receipt = await road.send(f"sms:{numbers(1, '+1518')[0]}", HELLO)
            await ended(road, receipt, State.held)
            said = await road.explain(receipt.id)
            assert (said.because.partition(":")[0], said.level) == ("lane held", 0)
            other = await road.send(f"sms:{numbers(1)[0]}", HELLO)
            assert (await road.explain(other.id)).state is State.held
            chat = await road.send(f"whatsapp:{numbers(1)[0]}", HELLO)
            await ended(road, chat, State.delivered)

    within(story())


def test_a_refused_credential_holds_its_queue_until_a_new_one_is_put(
    dsn: str, provider: Provider, within: Within
) -> None:
    async def story() -> None:
        async with opened(dsn, provider) as road:
            spec = provider.spec()
            await road.credentials.put("sms", spec, "x" * 32, kind="sms", check=False)
            receipts = [await road.send(f"sms:{number}", HELLO) for number in numbers(3)]
            for receipt in receipts:
                await ended(road, receipt, State.held)
                assert (await road.explain(receipt.id)).because.startswith("disabled: ")
            assert not provider.taken()
            await road.credentials.put("sms", spec, TOKEN, kind="sms")
            for receipt in receipts:
                await ended(road, receipt, State.delivered)

    within(story())
    assert provider.taken() == Counter(numbers(3))


def test_what_is_sent_again_goes_to_the_same_recipient(
    dsn: str, provider: Provider, within: Within
) -> None:
    (number,) = numbers(1)

    async def story() -> None:
        async with opened(dsn, provider) as road:
            bad = await road.send(f"sms:{numbers(1, '+1511')[0]}", HELLO)
            await ended(road, bad, State.dead)
            again = await road.messages.send_again(bad.id)
            (new,) = again.ids
            await ended(road, Receipt(new, ""), State.dead)
            assert (await road.explain(new)).recipient == numbers(1, "+1511")[0]

    within(story())
    assert {one.number for one in provider.arrivals()} == {numbers(1, "+1511")[0]}
    assert number not in provider.taken()


@pytest.mark.parametrize(
    ("address", "body", "credential", "words"),
    [
        ("sms:12", HELLO, "", "'12' is no telephone number: write [+]6591234567"),
        ("sms:", HELLO, "", "'' is no telephone number"),
        ("sms:sms", HELLO, "", "'sms' is no telephone number"),
        ("sms:+6591234567", {"txt": "Hello"}, "", "unknown field `txt`; write"),
        ("sms:+6591234567", {"text": " "}, "", "the text is empty: write"),
        ("sms:+6591234567", "Hello", "", "the body is not a text message"),
        ("sms:+6591234567", b"\xff", "", "the body is not a text message"),
        ("sms:+6591234567", {"text": "x" * 161}, "", "2 segments, but credential 'sms' allows 1"),
        ("whatsapp:+6591234567", {"text": "x" * 5_000}, "", "over 4096 characters"),
        ("sms:+6591234567", HELLO, "none", "no credential 'none'"),
        ("sms:+6591234567", HELLO, "whatsapp", "is for whatsapp, not for sms"),
        ("https://example.com/", {}, "sms", "is sent to without one"),
        ("a job", {}, "sms", "is sent to without one"),
        ("webhook:sms", {}, "", "webhook: is not understood"),
        ("sms@site:sms", HELLO, "", "is a queue of messages that name their recipients"),
    ],
)
def test_what_cannot_be_sent_is_refused_at_the_door(
    provider: Provider,
    tmp_path: Path,
    within: Within,
    address: str,
    body: object,
    credential: str,
    words: str,
) -> None:
    async def story() -> None:
        async with local(f"sqlite:///{tmp_path}/road.db") as road:
            for name in ("sms", "whatsapp"):
                await road.credentials.put(name, provider.spec(), TOKEN, kind=name)
            with pytest.raises(BadInput, match=words):
                await road.send(address, body, credential=credential)
            assert not (await road.messages.list()).messages

    within(story())


def test_headers_are_not_for_texts_and_ours_are_for_nobody_else(
    provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(f"sqlite:///{tmp_path}/road.db") as road:
            with pytest.raises(BadCredential, match="no credential is named"):
                await road.send("sms:+6591234567", HELLO)
            await road.credentials.put("sms", provider.spec(), TOKEN)
            for name in ("postroad-again-of", "Postroad-Again-Of", "Postroad-To"):
                with pytest.raises(BadInput, match="is ours"):
                    await road.send("sms:+6591234567", HELLO, headers={name: "x"})
            with pytest.raises(BadInput, match="sms has no header 'x-a'"):
                await road.send("sms:+6591234567", HELLO, headers={"x-a": "1"})
            with pytest.raises(BadInput, match="'postroad-to' is ours"):
                await road.send("https://192.0.32.8/", {}, headers={"Postroad-To": "+65"})

    within(story())
