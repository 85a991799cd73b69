"""rabbitmq: sending and receiving on one private broker, against aio-pika, Celery and Dramatiq.

Everyone sends persistent, mandatory, confirmed messages of the same body to one quorum queue, and
has it to himself; ours are sent by `road.send`, with all that a message carries beside its body.
While somebody sends nobody consumes.
"""

from pathlib import Path

from bench.brokers import start_broker
from bench.shape import Options, Rates, Run, Say

NAME = "rabbitmq"
SLICE_S = 3.0
AROUND_S = 4.0
"""A process that starts, a queue that is filled and emptied, counts that are checked."""

AWAITING = (100, 500, 1_000)
CHANNELS = (1, 4)
CELERIES: dict[str, Options] = {
    "solo pool, prefetch 64": {"pool": "solo", "concurrency": 1, "prefetch": 64},
    "4 threads, prefetch 16 each": {"pool": "threads", "concurrency": 4, "prefetch": 16},
    "2 processes, prefetch 64 each": {"pool": "prefork", "concurrency": 2, "prefetch": 64},
}
DRAMATIQS: dict[str, Options] = {
    "1 thread, prefetch 64": {"threads": 1, "prefetch": 64},
    "4 threads, prefetch 64": {"threads": 4, "prefetch": 64},
    "8 threads, prefetch 256": {"threads": 8, "prefetch": 256},
}
MS = 1_000.0


def lineup(_folder: Path, say: Say) -> list[Run]:
    """Ours as it is shipped and aio-pika, with the same numbers of callers; Celery and Dramatiq
    at three settings."""
    broker = start_broker()
    say(f"RabbitMQ {broker.version}, a private broker")
    dsn = broker.dsn()
    awaiting = ",".join(map(str, AWAITING))
    options: Options = {"server": dsn, "awaiting": awaiting}
    ours = [
        Run("ours", "as shipped", "bench.rabbit_roads:send", options),
        Run("ours", "as shipped", "bench.rabbit_roads:receive", {"server": dsn}),
    ]
    pikas = [
        Run("peers", f"channels: {n}", "bench.pikas:run", {**options, "channels": n})
        for n in CHANNELS
    ]
    celeries = [
        Run("peers", setting, "bench.celeries:run", {"server": dsn, **options})
        for setting, options in CELERIES.items()
    ]
    dramatiqs = [
        Run("peers", setting, "bench.dramatiqs:run", {"server": dsn, **options})
        for setting, options in DRAMATIQS.items()
    ]
    handed = Run("ours", "5,000/s", "bench.rabbit_roads:hand_over", {"server": dsn})
    return [pikas[0], ours[0], pikas[1], *celeries, ours[1], *dramatiqs, handed]


def reached(rates: Rates) -> dict[str, float]:
    """Sending is compared at each number of callers, and the least counts; Celery and Dramatiq
    count at the better of their bests."""
    sending = [
        rates.rate(f"send-{each}-awaiting") / rates.rate(f"aio-pika-{each}-awaiting", "peers")
        for each in AWAITING
    ]
    better = max(rates.rate("celery", "peers"), rates.rate("dramatiq", "peers"))
    return {
        "receive-times-celery-and-dramatiq": rates.rate("receive") / better,
        "confirmed-send-times-aio-pika": min(sending),
        "1-ms-over-p99-handed-over": rates.rate("1-over-p99-handed-over") / MS,
    }
