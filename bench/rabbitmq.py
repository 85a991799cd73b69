"""rabbitmq: sending and receiving on one private broker, against aio-pika, Celery and Dramatiq."""

from pathlib import Path

from bench.brokers import start_broker
from bench.shape import Options, Rates, Run, Say

NAME = "rabbitmq"
SLICE_S = 3.0

AWAITING = (100, 500, 1_000)
PREFETCH = (512, 256, 1_024)
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
    """Ours and aio-pika with the same numbers of callers, Celery and Dramatiq at three settings."""
    broker = start_broker()
    say(f"RabbitMQ {broker.version}, a private broker")
    dsn = broker.dsn()
    ours = [
        Run(
            "ours",
            f"{awaiting:,} awaiting, prefetch {prefetch:,}",
            "bench.rabbit_roads:run",
            {"server": dsn, "awaiting": awaiting, "prefetch": prefetch},
        )
        for awaiting, prefetch in zip(AWAITING, PREFETCH, strict=True)
    ]
    pikas = [
        Run(
            "peers",
            f"{awaiting:,} awaiting",
            "bench.pikas:run",
            {"server": dsn, "awaiting": awaiting},
        )
        for awaiting in AWAITING
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
    four = zip(ours, pikas, celeries, dramatiqs, strict=True)
    return [run for turn in four for run in turn] + [handed]


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
