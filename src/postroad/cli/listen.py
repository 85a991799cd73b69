"""`postroad listen`: a receiver on this machine, to see what arrives and to rehearse bad days."""

from typing import Annotated

import typer

from postroad.cli.command import Invocation, command
from postroad.model.errors import BadInput


def add(app: typer.Typer) -> None:
    """This command."""
    command(app, "listen", rich_help_panel="Run")(listen)


def listen(
    call: Invocation,
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
    from postroad.cli import receiving  # with the whole of cryptography
    from postroad.cli.receiver import ReceiverOptions

    receiving.check(secret or ())
    if not 200 <= status <= 599:
        raise BadInput(f"--status {status}: give one from 200 to 599")
    share, slow_s = _share(fail), _seconds(slow)
    options = ReceiverOptions(tuple(secret or ()), status, share, slow_s, retry_after, reset)
    receiving.run(call, port, options)


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
