"""rabbit-kills, rabbit-channels, rabbit-workers, rabbit-times: a private RabbitMQ in mid-load."""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from proof.shape import Reached
from tests.rabbitmq import timing
from tests.rabbitmq.killing import Stage, close_channels, kill_broker, kill_worker, strike
from tests.rabbitmq.timing import Back
from tests.servers.rabbitmq import PrivateRabbit

BROKER_KILLS, CHANNEL_CLOSES, WORKER_KILLS = 10, 50, 20
MESSAGES_A_BLOW = 150
ITERATIONS = 8
LATE_MS, LATE_SHARE = 250, 0.0625
WAITS_MS = [*range(100, 20_000, 397)]


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


def prove_times(_seconds: float, iterations: int = ITERATIONS) -> Reached:
    """Every iteration of `2^n * 250 ms` comes back not early and less than 250 ms late; any other
    wait at most 6.25 % more."""
    with PrivateRabbit() as rabbit, tempfile.TemporaryDirectory() as folder:
        tries, waits = Path(folder, "tries"), Path(folder, "waits")
        tries.mkdir()
        waits.mkdir()
        backs = asyncio.run(timing.retries(rabbit.create_vhost(), tries, iterations))
        others = asyncio.run(timing.delays(rabbit.create_vhost(), waits, WAITS_MS))
    _tell("retries", backs)
    _tell("other waits", others)
    wrong = [back for back in backs if not 0 <= back.late_ms < LATE_MS]
    wrong += [b for b in others if not 0 <= b.late_ms <= LATE_MS + LATE_SHARE * b.wait_ms]
    sys.stdout.write("".join(f"{back}\n" for back in wrong))
    return Reached(floor=iterations, reached=len(backs), broken=len(wrong))


def _tell(name: str, backs: Sequence[Back]) -> None:
    late_ms = sorted(back.late_ms for back in backs)
    middle_ms = late_ms[len(late_ms) // 2]
    sys.stdout.write(f"{name}: {len(backs)}, late by {middle_ms} ms, at most {late_ms[-1]} ms\n")
