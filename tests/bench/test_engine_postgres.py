"""The bars of engine-postgres: which figures each one is worked out from."""

import tomllib
from pathlib import Path

from bench import engine_postgres
from bench.shape import Side

BARS = Path(engine_postgres.__file__).with_name("bars.toml")


class Told:
    """Rates that a test names."""

    def __init__(self, **rates: float) -> None:
        self._rates = {name.replace("_", "-"): rate for name, rate in rates.items()}

    def rate(self, name: str, _side: Side = "ours") -> float:
        return self._rates[name.replace("1-", "one-").replace("2-", "two-")]

    def late_us(self, _name: str) -> list[list[int]]:
        return []


def test_two_processes_are_compared_with_one_by_handlers_that_compute() -> None:
    rates = Told(
        engine=30_000,
        pgqueuer=10_000,
        pgqueuer_pool=7_500,
        send_many=80_000,
        pgqueuer_enqueue=40_000,
        copy=160_000,
        one_busy_process=8_000,
        two_busy_processes=13_200,
    )
    assert engine_postgres.reached(rates) == {
        "times-pgqueuer": 3.0,
        "handlers-times-pgqueuer": 4.0,
        "send-many-times-pgqueuer": 2.0,
        "send-many-share-of-copy": 0.5,
        "two-busy-processes-times-one": 1.65,
    }
    assert engine_postgres.BUSY_US == 100


def test_each_figure_has_its_bar() -> None:
    floors = tomllib.loads(BARS.read_text())[engine_postgres.NAME]
    assert floors == {
        "times-pgqueuer": 3.0,
        "handlers-times-pgqueuer": 3.7,
        "send-many-times-pgqueuer": 2.0,
        "send-many-share-of-copy": 0.40,
        "two-busy-processes-times-one": 1.6,
    }
