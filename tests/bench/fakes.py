"""A benchmark whose contestants only say what a test tells them to."""

from pathlib import Path

from bench.shape import Durability, Options, Rates, Run, Say, Taken

NAME = "fake"
SLICE_S = 1.0


class Fake:
    """Ours takes 1,000 a second, the peer 200 at best."""

    NAME = NAME
    SLICE_S = SLICE_S

    def __init__(self, *, ours_received: int = 1_000, peer_synchronous: int = 2) -> None:
        self._ours: Options = {"name": "ours", "received": ours_received, "synchronous": 2}
        self._peer: Options = {"name": "peer", "synchronous": peer_synchronous}

    def lineup(self, _folder: Path, _say: Say) -> list[Run]:
        return [
            Run("ours", "only", "", self._ours),
            Run("peers", "slow", "", {**self._peer, "received": 100, "accepted": 100}),
            Run("peers", "fast", "", {**self._peer, "received": 200, "accepted": 200}),
        ]

    def reached(self, rates: Rates) -> dict[str, float]:
        return {"times-peer": rates.rate("ours") / rates.rate("peer", "peers")}


def run(
    folder: Path,
    _seconds: float,
    *,
    name: str,
    received: int,
    synchronous: int,
    accepted: int = 1_000,
) -> list[Taken]:
    """Takes no time at all, and leaves something behind."""
    (folder / "left-over").touch()
    durability = Durability("wal", synchronous)
    return [Taken(name, accepted, accepted, received, accepted, 1.0, 0.1, durability)]
