"""Starts the provider stand-in, and reads its log."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Self

from msgspec import Struct

from postroad.model.credential import CredentialSpec

ROOT = Path(__file__).parents[2]
HELD = -1.0
ACCOUNT, TOKEN = "AC1", "a secret of the provider"


class Arrival(Struct, frozen=True):
    at_ns: int
    """Since 1970."""
    number: str
    what: str


class Provider:
    """`with Provider(folder) as provider:` …"""

    MODULE = "tests.campaigns.provider_process"

    def __init__(
        self, folder: Path, latency_ms: float = 0, slow_ms: float = 0, *, callbacks: bool = False
    ) -> None:
        """`latency_ms` HELD: nothing is answered before `release`."""
        self.log = folder / "provider.log"
        told = "yes" if callbacks else "no"
        self._arguments = [str(self.log), str(latency_ms), str(slow_ms), told]
        self.port = 0

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", self.MODULE, *self._arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def begin(self, folder: Path) -> None:
        """Begin anew for another test, with another log: a process of its own took 0.07 s of CPU."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.log = folder / "provider.log"
        self._process.stdin.write(f"{self.log}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "begun\n"

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def server(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def spec(self, **changes: object) -> CredentialSpec:
        values = {"server": self.server, "account": ACCOUNT, "sender": "+15550000", **changes}
        return CredentialSpec(**values)  # type: ignore[arg-type]

    def release(self) -> None:
        """Answer what is held, and at once from now on."""
        self.log.with_suffix(".released").touch()

    def arrivals(self) -> list[Arrival]:
        """As they were answered."""
        if not self.log.exists():
            return []
        whole = self.log.read_text().rpartition("\n")[0]  # the last line may be half written
        lines = (line.split() for line in whole.splitlines())
        return [Arrival(int(at), number, what) for at, number, what in lines]

    def taken(self) -> Counter[str]:
        """How often each number's message was taken."""
        return Counter(one.number for one in self.arrivals() if one.what == "taken")


def busiest(arrivals: list[Arrival], window_s: float = 1.0) -> int:
    """The most arrivals in any window of that length."""
    times = sorted(one.at_ns for one in arrivals)
    most = first = 0
    for last, at_ns in enumerate(times):
        while at_ns - times[first] >= window_s * 1e9:
            first += 1
        most = max(most, last - first + 1)
    return most
