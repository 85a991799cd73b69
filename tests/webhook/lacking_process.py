"""A process that has no file descriptor left: prints what each that needs one says."""

import asyncio
import json
import os
import resource
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec.structs import replace

from postroad.hub import client_connection  # noqa: F401 - it could not be read then
from postroad.model.credential import Credential, CredentialSpec, OpenCredential
from postroad.model.entities import LaneKey, Message, Policy, Queue
from postroad.model.errors import Shortage
from postroad.model.hubs import KnownHub
from postroad.model.keyring import KeyRing
from postroad.model.recipients import addressed
from postroad.model.webhook import WebhookRules
from postroad.ports.clock import SystemClock
from postroad.stores.sqlite.store import SqliteStore
from postroad.transports.hub import HubTransport
from postroad.transports.sms.session import SmsSession
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.channel import RecipientsSession
from postroad.transports.webhook.connections import IdleConnections, trust
from postroad.transports.webhook.endpoints import Endpoints
from postroad.transports.webhook.guard import Guard
from postroad.transports.webhook.resolving import SystemResolver
from postroad.transports.webhook.signing import Signer
from postroad.transports.webhook.target import read
from postroad.transports.webhook.transport import WebhookTransport
from tests.webhook.conftest import LOCAL

NOWHERE = "http://127.0.0.1:9/"
MESSAGE = Message(7, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1 << 62, b"{}")


def queue(name: str) -> Queue:
    return Queue(1, "default", name, Policy(), (1,))


def use_up() -> list[int]:
    """All descriptors."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    used: list[int] = []
    while True:
        try:
            used.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            return used


async def said(asked: Callable[[], Awaitable[object]]) -> str:
    try:
        answer = await asked()
    except Shortage:
        return "Shortage"
    return repr(answer)


async def main(folder: Path) -> dict[str, str]:
    clock = SystemClock()
    store = SqliteStore(folder / "road.db", clock)
    await store.open()
    endpoints = Endpoints(store, KeyRing([], os.urandom), LOCAL, clock)
    webhooks = WebhookTransport(LOCAL, endpoints, clock)
    webhook = await webhooks.open(webhooks.address(NOWHERE, "default"))
    await endpoints.ask(1)
    hubs = HubTransport([KnownHub("ws://127.0.0.1:9")])
    hub = await hubs.open(LaneKey("hub", "127.0.0.1:9"))
    guard, resolver = Guard(WebhookRules(), SystemResolver()), SystemResolver()
    http = VettedHttp(LOCAL, clock, IdleConnections())
    spec = CredentialSpec(NOWHERE, "account", "+4930")
    known = Credential(1, "default", "main", "sms", spec, "", b"")
    sms = SmsSession(OpenCredential(known, {"secret": "token"}), http)
    post = RecipientsSession(Signer([]), http, clock)
    addressed_to = replace(MESSAGE, headers=addressed(NOWHERE), body=b'{"text": "Hi"}')
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        "guard": lambda: guard.addresses(read("https://192.0.32.8/", WebhookRules())),
        "resolver": lambda: resolver("localhost"),
        "certificates": lambda: asyncio.to_thread(trust),
        "webhook": lambda: webhook.send(queue(NOWHERE), MESSAGE),
        "hub": lambda: hub.send(queue("hub://127.0.0.1:9/box"), MESSAGE),
        "campaign to webhooks": lambda: post.send(queue(NOWHERE), addressed_to),
        "campaign by SMS": lambda: sms.send(queue("sms:main"), addressed_to),
    }
    used = use_up()
    told = {name: await said(ask) for name, ask in asked.items()}
    for number in used:
        os.close(number)
    told["certificates that are kept"] = str(trust.cache_info().currsize)
    await store.close()
    return told


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        sys.stdout.write(json.dumps(asyncio.run(main(Path(where)))))
