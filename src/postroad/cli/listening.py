"""A receiver that runs until it is stopped, and tells what it hears."""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Final

import msgspec

from postroad.cli.frame import CommandCall
from postroad.cli.printing import as_json, err, out, styled
from postroad.cli.receiver import Heard, Manner, Receiver
from postroad.ports import loop
from postroad.ports.clock import SystemClock, system_chance
from postroad.transports.webhook.signing import PUBLIC, Signer, check_public

HOST: Final = "127.0.0.1"


def check(secrets: Iterable[str]) -> None:
    """Whether signatures can be verified with these, or an error that says why not."""
    for each in secrets:
        if each.startswith(PUBLIC):
            check_public(each)
        else:
            _ = Signer([each])  # whether they can sign


def run(call: CommandCall, port: int, manner: Manner) -> None:
    """Until Ctrl+C."""
    with contextlib.suppress(KeyboardInterrupt):
        loop.run(_listen(call, port, manner))


async def _listen(call: CommandCall, port: int, manner: Manner) -> None:
    tell = _tell_json if call.json else _tell
    receiver = Receiver(manner, SystemClock(), system_chance(), tell)
    server, where = await receiver.start(HOST, port)
    allow = "webhooks.allow=127.0.0.0/8, webhooks.http=true, webhooks.ports="
    err().print(f"listening at http://{HOST}:{where}/; a road reaches it with {allow}")
    async with server:
        await asyncio.Event().wait()


def _tell_json(heard: Heard) -> None:
    as_json(heard)


def _tell(heard: Heard) -> None:
    color = "green" if 200 <= heard.status < 300 else "red"
    mark = {"verified": "green", "not checked": "dim"}.get(heard.signature, "bold red")
    number = heard.headers.get("webhook-id", "–")
    to = (str(heard.status or "reset"), color)
    console = out()
    console.print(
        styled(
            *(to, f" {heard.method} {heard.path} ", (number, "bold"), " ", (heard.signature, mark))
        ),
    )
    try:
        text = msgspec.json.format(heard.body, indent=2).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        text = repr(heard.body[:200])
    console.print(text, style="dim")
