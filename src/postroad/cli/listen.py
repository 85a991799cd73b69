"""`postroad listen`: a webhook receiver on this machine, for tests of good and bad answers."""

from datetime import timedelta
from typing import Annotated, Final

from postroad.cli.command import LocalInvocation, command
from postroad.cli.options import Argument, Group, Option
from postroad.model.errors import BadInput

SLOW_MAX: Final = timedelta(hours=1)


def add(app: Group) -> None:
    """Add the command."""
    command(app, "listen", panel="Run")(listen)


def listen(
    call: LocalInvocation,
    port: Annotated[
        int, Argument(help="The port; 0 takes any free one.", min=0, max=65_535)
    ] = 8700,
    secret: Annotated[
        list[str] | None,
        Option(help="A key to verify signatures with, whsec_… or whpk_…; may be repeated."),
    ] = None,
    status: Annotated[int, Option(help="Answer with this status instead of 200.")] = 200,
    fail: Annotated[str, Option(help="Fail only this share of requests, as 20%.")] = "",
    slow: Annotated[
        timedelta, Option(help="Wait this long before the answer, as 2s.")
    ] = timedelta(),
    retry_after: Annotated[str, Option(help="A Retry-After header for statuses from 400 on.")] = "",
    reset: Annotated[
        bool, Option("--reset", help="Reset the connection instead of answering.")
    ] = False,
) -> None:
    """Receive webhooks on this machine: verify signatures, print requests, and fail as asked."""
    from postroad.cli import receiving  # with the whole of cryptography
    from postroad.cli.receiver import ReceiverOptions

    receiving.check(secret or ())
    if slow > SLOW_MAX:
        raise BadInput(f"--slow: give at most {SLOW_MAX.total_seconds():g} s")
    if not 200 <= status <= 599:
        raise BadInput(f"--status {status}: give a status from 200 to 599")
    share, slow_s = _share(fail), slow.total_seconds()
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
