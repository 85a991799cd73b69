"""A new channel is one class and its registration: single messages and campaigns go through it."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from postroad import CredentialSpec, Postroad
from postroad.model.credential import CredentialField, OpenCredential
from postroad.model.entities import LaneKey, Message, Policy, Queue
from postroad.model.errors import BadInput
from postroad.model.outcome import DELIVERED, Outcome, ProviderAnswer, unknown
from postroad.model.recipients import Measured, RecipientCheck, recipient_of
from postroad.model.states import State
from postroad.ports.channel import Channel
from tests.campaigns.stories import LOCAL, reaches, running, write_csv
from tests.channels.test_single_messages import ended

Within = Callable[[Any], Any]


def pigeon(text: str) -> str:
    if not text.isalpha():
        raise BadInput(f"{text!r} is no loft: give its name")
    return text.lower()


class Pigeons:
    """Carries bodies to lofts, and notes with which secret."""

    name, scheme = "pigeon", "loft"
    fields = (
        CredentialField("secret", "Its ring.", needed=True, sealed=True),
        CredentialField("breed", "Its kind.", needed=True),
        CredentialField("tune", "What it hears.", sealed=True),
    )
    parts = ("text",)
    recipients = RecipientCheck(pigeon, re.compile(r"[a-z]+"))
    policy = Policy(at_most_once=True)
    calls_max = 1

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []
        self.lanes: list[LaneKey] = []

    def check(self, spec: CredentialSpec, _secrets: Mapping[str, str], /) -> None:
        if spec.options["breed"] == "rock":
            raise BadInput("a rock does not fly")

    def encode(self, parts: Mapping[str, str]) -> bytes:
        return msgspec.json.encode(parts["text"])

    def measure(self, body: bytes) -> Measured:
        if body == b'""':
            raise BadInput("there is nothing to carry")
        return Measured()

    async def connect(self, lane: LaneKey, credential: OpenCredential) -> "Flight":
        self.lanes.append(lane)
        return Flight(self, credential.secret + credential.secrets.get("tune", ""))


class Flight:
    def __init__(self, loft: Pigeons, ring: str) -> None:
        self._loft = loft
        self._ring = ring

    async def send(self, _queue: Queue, message: Message, /) -> Outcome:
        self._loft.sent.append((recipient_of(message), message.body.decode(), self._ring))
        return replace(DELIVERED, provider=ProviderAnswer("P1"))

    def overdue(self, seconds: float) -> Outcome:
        return unknown(f"not back after {seconds:g} s")

    async def close(self) -> None:
        pass


SPEC = CredentialSpec(options={"breed": "homer"})


def test_a_channel_that_a_program_brings_sends_single_messages_and_campaigns(
    dsn: str, tmp_path: Path, within: Within
) -> None:
    pigeons = Pigeons()
    assert isinstance(pigeons, Channel)

    async def story() -> None:
        async with running(Postroad(dsn, settings=LOCAL, transports=[pigeons])) as road:
            shown = await road.credentials.put(
                "bob", SPEC, "ring 7", secrets={"tune": "!"}, kind="pigeon"
            )
            assert (shown.options, shown.secrets) == ({"breed": "homer"}, ("secret", "tune"))
            receipt = await road.send("loft:Garden", "hello", credential="bob")
            await ended(road, receipt, State.delivered)
            assert (await road.explain(receipt.id)).recipient == "garden"
            await road.campaigns.create("c", credential="bob", template="hi {{ name }}")
            people = write_csv(tmp_path / "a.csv", ["roof", "barn"])
            await road.campaigns.import_file("c", people)
            await road.campaigns.start("c")
            assert (await reaches(road, "done")).counts.sent == 2
            (found, *_) = await road.campaigns.recipients("c")
            assert found.provider_id == "P1"

    within(story())
    assert sorted(pigeons.sent) == [
        ("barn", '"hi Name 1"', "ring 7!"),
        ("garden", '"hello"', "ring 7!"),
        ("roof", '"hi Name 0"', "ring 7!"),
    ]
    assert {(lane.transport, lane.server) for lane in pigeons.lanes} == {("pigeon", "bob")}


def test_a_changed_credential_counts_from_the_next_try_on(tmp_path: Path, within: Within) -> None:
    pigeons = Pigeons()

    async def story() -> None:
        dsn = f"sqlite:///{tmp_path}/road.db"
        async with running(Postroad(dsn, settings=LOCAL, transports=[pigeons])) as road:
            for ring in ("one", "two"):
                await road.credentials.put("bob", SPEC, ring, kind="pigeon")
                receipt = await road.send("loft:roof", ring, credential="bob")
                await ended(road, receipt, State.delivered)

    within(story())
    assert [ring for *_, ring in pigeons.sent] == ["one", "two"]


@pytest.mark.parametrize(
    ("spec", "secrets", "words"),
    [
        (CredentialSpec(), {"secret": "x"}, "a credential for pigeon needs breed"),
        (SPEC, {}, "a credential for pigeon needs secret"),
        (replace(SPEC, options={"bread": "x"}), {"secret": "x"}, "no field 'bread': .*breed"),
        (replace(SPEC, options={"breed": "a", "tune": "b"}), {"secret": "x"}, "tune is a secret"),
        (CredentialSpec(), {"secret": "x", "breed": "homer"}, "breed is no secret"),
        (replace(SPEC, options={"breed": "rock"}), {"secret": "x"}, "a rock does not fly"),
        (replace(SPEC, options={"breed": "x" * 20_000}), {"secret": "x"}, "at most 16384"),
    ],
)
def test_the_fields_of_its_credentials_are_checked(
    tmp_path: Path, within: Within, spec: CredentialSpec, secrets: dict[str, str], words: str
) -> None:
    async def story() -> None:
        dsn = f"sqlite:///{tmp_path}/road.db"
        async with Postroad(dsn, settings=LOCAL, transports=[Pigeons()]) as road:
            with pytest.raises(BadInput, match=words):
                await road.credentials.put("bob", spec, secrets=secrets, kind="pigeon")
            with pytest.raises(BadInput, match=r"kind 'dove': there are sms, whatsapp, .*pigeon"):
                await road.credentials.put("bob", SPEC, "x", kind="dove")

    within(story())
