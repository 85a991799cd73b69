"""`postroad listen`: a receiver on this machine, to see what arrives and to rehearse bad days."""

import asyncio
import contextlib
from typing import Annotated

import msgspec
import typer
import uvloop
from rich.markup import escape

from postroad.cli.frame import Call, command
from postroad.cli.printing import as_json, err, out
from postroad.cli.receiver import Heard, Manner, Receiver
from postroad.model.errors import BadInput
from postroad.ports.clock import SystemClock, system_chance
from postroad.transports.webhook.signing import PUBLIC, Signer, check_public

HOST = "127.0.0.1"


def add(app: typer.Typer) -> None:
    """This command."""
    command(app, "listen", rich_help_panel="Run")(listen)


def listen(
    call: Call,
    port: Annotated[int, typer.Argument(help="Where; 0: any free one.", min=0, max=65_535)] = 8700,
    secret: Annotated[
        list[str] | None, typer.Option(help="whsec_… or whpk_… to verify with; again for more.")
    ] = None,
    status: Annotated[int, typer.Option(help="Answer this instead of 200.")] = 200,
    fail: Annotated[str, typer.Option(help="Only this share goes wrong, as in 20%.")] = "",
    slow: Annotated[str, typer.Option(help="Take so long to answer, as in 2s.")] = "",
    retry_after: Annotated[str, typer.Option(help="Sent with statuses from 400 on.")] = "",
    reset: Annotated[bool, typer.Option("--reset", help="Reset the connection instead.")] = False,
) -> None:
    """Receive webhooks here: verify signatures, print what came, misbehave when told to."""
    for each in secret or ():
        if each.startswith(PUBLIC):
            check_public(each)
        else:
            Signer([each])
    if not 200 <= status <= 599:
        raise BadInput(f"--status {status}: give one from 200 to 599")
    manner = Manner(tuple(secret or ()), status, _share(fail), _seconds(slow), retry_after, reset)
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_listen(call, port, manner))


async def _listen(call: Call, port: int, manner: Manner) -> None:
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
    mark = {"verified": "[green]verified[/]", "not checked": "[dim]not checked[/]"}
    said = mark.get(heard.signature, f"[bold red]{heard.signature}[/]")
    number = heard.headers.get("webhook-id", "–")
    to = heard.status or "reset"
    console = out()
    console.print(
        f"[{color}]{to}[/] {heard.method} {escape(heard.path)} [bold]{escape(number)}[/] {said}",
        soft_wrap=True,
    )
    try:
        text = msgspec.json.format(heard.body, indent=2).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        text = repr(heard.body[:200])
    console.print(text, markup=False, style="dim", soft_wrap=True)
    console.file.flush()


def _share(text: str) -> float:
    if not text:
        return 0.0
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise BadInput(f"--fail {text}: give a share, as in 20%")
    return share


def _seconds(text: str) -> float:
    if not text:
        return 0.0
    number, scale = (text[:-2], 0.001) if text.endswith("ms") else (text.removesuffix("s"), 1.0)
    try:
        seconds = float(number) * scale
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3_600:
        raise BadInput(f"--slow {text}: give seconds, as in 2s or 250ms")
    return seconds
