"""Runs the receiver of `postroad listen` until it is stopped, and prints each request."""

import asyncio
import contextlib
import signal
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from postroad.cli.command import Invocation
from postroad.cli.own_endpoint import OwnEndpoint
from postroad.cli.printing import as_json, err, out, styled
from postroad.cli.receiver import ReceivedRequest, Receiver, ReceiverOptions
from postroad.ports import loop
from postroad.ports.clock import SystemClock, system_chance
from postroad.transports.webhook.signing import PUBLIC, Signer, check_public

HOST: Final = "127.0.0.1"


def check(secrets: Iterable[str]) -> None:
    """Raise BadInput if signatures cannot be verified with one of these."""
    for each in secrets:
        if each.startswith(PUBLIC):
            check_public(each)
        else:
            _ = Signer([each])  # whether they can sign


def run(
    call: Invocation, port: int, options: ReceiverOptions, wanted: dict[str, Any] | None
) -> None:
    """Run until Ctrl+C or SIGTERM; meanwhile be the endpoint that is wanted, if one is."""
    with contextlib.suppress(KeyboardInterrupt):
        loop.run(_listen(call, port, options, wanted))


async def _listen(
    call: Invocation, port: int, options: ReceiverOptions, wanted: dict[str, Any] | None
) -> None:
    clock, stopped = SystemClock(), asyncio.Event()
    receiver = Receiver(options, clock, system_chance(), _tell_json if call.json else _tell)
    server, where = await receiver.start(HOST, port)
    allow = "webhooks.allow=127.0.0.0/8, webhooks.http=true, webhooks.ports="
    err().print(f"listening at http://{HOST}:{where}/; a road reaches it with {allow}")
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with server:
        if wanted is None:
            await stopped.wait()
            return
        own = OwnEndpoint(call.ask, wanted)
        receiver.expect_secret()
        await own.create(wanted["url"] or f"http://{HOST}:{where}/")
        receiver.trust(own.secret)
        err().print(f"it is the endpoint {own.id} of tenant {call.tenant} until it ends")
        await own.keep(stopped)


def _tell_json(request: ReceivedRequest) -> None:
    as_json(request)


def _tell(request: ReceivedRequest) -> None:
    color = "green" if 200 <= request.status < 300 else "red"
    mark = {"verified": "green", "not checked": "dim"}.get(request.signature, "bold red")
    number = request.headers.get("webhook-id", "–")
    to = (str(request.status or "reset"), color)
    console = out()
    console.print(
        styled(
            *(
                to,
                f" {request.method} {request.path} ",
                (number, "bold"),
                " ",
                (request.signature, mark),
            )
        ),
    )
    try:
        text = msgspec.json.format(request.body, indent=2).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        text = repr(request.body[:200])
    console.print(text, style="dim")
