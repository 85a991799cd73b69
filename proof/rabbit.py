"""rabbit-kills, rabbit-channels, rabbit-workers, rabbit-times: a private RabbitMQ in mid-load."""

import sys
from collections.abc import Callable

from proof.shape import Reached
from tests.rabbitmq.killing import Stage, close_channels, kill_broker, kill_worker, strike

BROKER_KILLS, CHANNEL_CLOSES, WORKER_KILLS = 10, 50, 20
MESSAGES_A_BLOW = 150


def prove_kills(_seconds: float, blows: int = BROKER_KILLS) -> Reached:
    """The broker is killed with -9 again and again, and started again."""
    return _prove(blows, kill_broker)


def prove_channels(_seconds: float, blows: int = CHANNEL_CLOSES) -> Reached:
    """The broker closes the channels of workers that hold messages."""
    return _prove(blows, close_channels)


def prove_workers(_seconds: float, blows: int = WORKER_KILLS) -> Reached:
    """Workers are killed with -9, and others come."""
    return _prove(blows, kill_worker)


def _prove(blows: int, how: Callable[[Stage], None]) -> Reached:
    report = strike(blows, blows * MESSAGES_A_BLOW, how)
    sys.stdout.write(
        f"{report.accepted:,} messages, {report.kills} blows, {report.cut} results unknown, "
        f"{report.repeats} repeats: {report.states}\n"
    )
    sys.stdout.write("".join(f"{line}\n" for line in report.breaches[:20]))
    return Reached(floor=blows, reached=report.kills, broken=len(report.breaches))
