"""What a provider says later: signed, late, twice and out of order."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import pytest

from postroad import Postroad
from postroad.model.campaign import earlier
from postroad.model.credential import Credential, CredentialSpec, OpenCredential
from postroad.model.ids import campaign_id, key_number
from postroad.ports.channel import CALLBACKS, ProviderCall
from postroad.transports.sms.channel import SIGNATURE, WhatsAppChannel, sign, signed
from postroad.transports.vetted_http import VettedHttp
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import local, numbers, prepare, reaches, running, until

Within = Callable[[Any], Any]


async def heard(road: Postroad, number: int, body: bytes, signature: str) -> bool:
    """Whether a report was taken."""
    callbacks, headers = road.campaign_service.callbacks, {SIGNATURE: signature}
    known = await callbacks.credential(number, headers)
    return known is not None and await callbacks.take(number, known, headers, body)


class Door:
    """A door for callbacks: hands each to the road as a server would."""

    def __init__(self, road: Postroad) -> None:
        self._road = road
        self.taken: list[bool] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = dict(
            line.lower().split(": ", 1)[:1] + line.split(": ", 1)[1:]
            for line in head.split("\r\n")[1:-2]
        )
        body = await reader.readexactly(int(headers["content-length"]))
        number = key_number(head.split(" ")[1].removeprefix(CALLBACKS + "/"))
        assert number is not None
        self.taken.append(await heard(self._road, number, body, headers[SIGNATURE]))
        writer.write(b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()


def test_callbacks_settle_what_is_uncertain_whatever_their_order(
    dsn: str, tmp_path: Path, within: Within
) -> None:
    people = numbers(5) + numbers(3, "+1514") + numbers(2, "+1516")

    async def story() -> None:
        with Provider(tmp_path, callbacks=True) as provider:
            async with running(local(dsn)) as road, Door(road) as door:
                await prepare(road, provider, tmp_path, people, callback=door.url)
                await road.campaigns.start("c")
                await reaches(road, "done")

                async def all_told() -> bool:
                    return len(door.taken) == 4 * len(people)

                await until(all_told)
                assert all(door.taken)
                counts = await road.campaigns.exact("c")
                assert (counts.sent, counts.uncertain, counts.undelivered) == (10, 0, 2)
                assert (await road.campaigns.show("c")).counts == counts
                found = await road.campaigns.recipients("c")
                assert {one.status for one in found[:8]} == {"delivered"}
                assert {(one.status, one.code) for one in found[8:]} == {("undelivered", "30003")}
            assert set(provider.taken().values()) == {1}

    within(story())


def test_a_callback_that_is_not_signed_with_the_token_changes_nothing(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(1, "+1514"), callback="http://here")
            await road.campaigns.start("c")
            await reaches(road, "done")
            campaign = await road.campaign_service.store.campaign("default", "c")
            assert campaign is not None
            url = f"http://here{CALLBACKS}/cmp_{campaign.id}_1"
            form = {"MessageSid": "SM1", "MessageStatus": "delivered"}

            async def call(campaign: int, n: int, form: dict[str, str], signature: str) -> bool:
                body = urlencode(form).encode()
                return await heard(road, campaign_id(campaign, n), body, signature)

            good = sign(TOKEN, url, form)
            assert not await call(campaign.id, 1, form, sign("other", url, form))
            assert not await call(campaign.id, 1, {**form, "MessageSid": "SM2"}, good)
            assert not await call(campaign.id, 2, form, good)
            assert not await call(campaign.id + 1, 1, form, good)
            assert (await road.campaigns.exact("c")).uncertain == 1
            assert await call(campaign.id, 1, form, good)
            assert (await road.campaigns.exact("c")).sent == 1
            other = {"MessageSid": "SM9", "MessageStatus": "failed"}
            assert not await call(campaign.id, 1, other, sign(TOKEN, url, other))

    within(story())


def test_the_signature_is_the_one_that_the_provider_documents() -> None:
    url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    form = {
        "CallSid": "CA1234567890ABCDE",
        "Caller": "+12349013030",
        "Digits": "1234",
        "From": "+12349013030",
        "To": "+18005551212",
    }
    assert sign("12345", url, form) == "0/KCTR6DLpKmkAf8muzZqo1nDgQ="


def test_a_signature_may_be_over_the_address_with_or_without_its_port() -> None:
    form = {"MessageSid": "SM1", "MessageStatus": "sent"}
    for ours, theirs in (
        ("https://road.example.com/v1/callbacks/x", "https://road.example.com:443/v1/callbacks/x"),
        ("https://road.example.com:8443/x?a=1", "https://road.example.com/x?a=1"),
        ("http://[::1]:8080/x", "http://[::1]/x"),
    ):
        assert signed(TOKEN, ours, form, sign(TOKEN, ours, form))
        assert signed(TOKEN, ours, form, sign(TOKEN, theirs, form))
        assert not signed(TOKEN, ours, form, sign(TOKEN, f"{theirs}y", form))


@pytest.mark.parametrize("word", ["", "exploded"])
def test_a_status_that_nobody_knows_changes_nothing(
    word: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(f"sqlite:///{tmp_path}/road.db") as road:
            await prepare(road, provider, tmp_path, numbers(1), callback="http://here")
            url = f"http://here{CALLBACKS}/cmp_1_1"
            form = {"MessageSid": "SM1", "MessageStatus": word}
            body = urlencode(form).encode()
            assert not await heard(road, campaign_id(1, 1), body, sign(TOKEN, url, form))
            assert (await road.campaigns.exact("c")).unsent == 1

    within(story())


READ = {
    "ChannelPrefix": "whatsapp",
    "ApiVersion": "2010-04-01",
    "MessageSid": "SM1",
    "SmsSid": "SM1",
    "AccountSid": "AC1",
    "From": "whatsapp:+15550000",
    "To": "whatsapp:+6591234567",
    "ChannelInstallSid": "XE1",
    "ChannelToAddress": "+6591234567",
    "StructuredMessage": "false",
}
"""What Twilio sends about a WhatsApp message, besides its status."""


def test_whatsapp_reports_late_twice_out_of_order_and_forged() -> None:
    channel = WhatsAppChannel(VettedHttp)  # type: ignore[arg-type]
    spec = CredentialSpec("https://api.twilio.com", "AC1", "+15550000")
    known = OpenCredential(Credential(1, "a", "b", "whatsapp", spec, "", b""), {"secret": TOKEN})
    url = "https://road.example.com/v1/callbacks/cmp_1_1"
    for status, more in (
        ("sent", {}),
        ("read", {"EventType": "READ"}),
        ("undelivered", {"ErrorCode": "63024", "ChannelStatusMessage": "no account"}),
    ):
        form = {**READ, "MessageStatus": status, "SmsStatus": status, **more}
        body, signature = urlencode(form).encode(), sign(TOKEN, url, form)
        found = channel.report(ProviderCall(url, {SIGNATURE: signature}, body), known)
        assert found is not None
        assert (found.provider_id, found.status) == ("SM1", status)
        assert found.code == more.get("ErrorCode", "")
        for wrong in (
            ProviderCall(url, {SIGNATURE: signature}, body.replace(b"SM1", b"SM2")),
            ProviderCall(url.replace("_1_1", "_1_2"), {SIGNATURE: signature}, body),
            ProviderCall(url, {SIGNATURE: sign("guess", url, form)}, body),
        ):
            assert channel.report(wrong, known) is None
    assert "sent" in earlier("read")
    assert "delivered" in earlier("read")
    assert not {"read", "delivered", "undelivered"} & set(earlier("sent")), "late changes nothing"
    assert "read" not in earlier("read"), "twice changes nothing"
    assert "read" not in earlier("undelivered")
