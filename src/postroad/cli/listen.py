"""`postroad listen`: a receiver on this machine, to see what arrives and to rehearse bad days."""

from typing import Annotated

from postroad.cli.frame import CommandCall, command
from postroad.cli.options import Argument, Group, Option
from postroad.model.errors import BadInput


def add(app: Group) -> None:
    """This command."""
    command(app, "listen", panel="Run")(listen)


def listen(
    call: CommandCall,
    port: Annotated[int, Argument(help="Where; 0: any free one.", min=0, max=65_535)] = 8700,
    secret: Annotated[
        list[str] | None, Option(help="whsec_… or whpk_… to verify with; again for more.")
    ] = None,
    status: Annotated[int, Option(help="Answer this instead of 200.")] = 200,
    fail: Annotated[str, Option(help="Only this share goes wrong, as in 20%.")] = "",
    slow: Annotated[str, Option(help="Take so long to answer, as in 2s.")] = "",
    retry_after: Annotated[str, Option(help="Sent with statuses from 400 on.")] = "",
    reset: Annotated[bool, Option("--reset", help="Reset the connection instead.")] = False,
) -> None:
    """Receive webhooks here: verify signatures, print what came, misbehave when told to."""
    from postroad.cli import listening  # with the whole of cryptography
    from postroad.cli.receiver import Manner

    listening.check(secret or ())
    if not 200 <= status <= 599:
        raise BadInput(f"--status {status}: give one from 200 to 599")
    share, slow_s = _share(fail), _seconds(slow)
    manner = Manner(tuple(secret or ()), status, share, slow_s, retry_after, reset)
    listening.run(call, port, manner)


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
