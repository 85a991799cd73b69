"""Peer: huey's SqliteHuey with fsync on, a real consumer, enqueue and execute.

Its own process and file: the stdlib's sqlite3 must not meet apsw on one file.
"""

import logging
import os
import resource
import struct
import time
from pathlib import Path
from typing import Any

from huey import SqliteHuey

from bench.shape import Durability, Taken

NUMBER = struct.Struct("<q")
WARM = 20


class Peer:
    """A huey with two tasks: one puts its number into a file, one tells its worker's pragmas."""

    def __init__(self, folder: Path) -> None:
        self.sink = os.open(folder / "sink", os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self.told = folder / "told"
        self.huey: Any = SqliteHuey(
            "bench", filename=str(folder / "huey.db"), fsync=True, results=False, timeout=60
        )
        self.take = self.huey.task(name="take")(self._take)
        self.tell = self.huey.task(name="tell")(self._tell)
        self.accepted = 0

    def _take(self, number: int) -> None:
        os.write(self.sink, NUMBER.pack(number))

    def _tell(self) -> None:
        durability = self.durability()
        part = self.told.with_suffix(".part")
        part.write_text(f"{durability.journal_mode} {durability.synchronous}")
        part.rename(self.told)

    def durability(self) -> Durability:
        """From this thread's live connection."""
        connection = self.huey.storage.conn
        (mode,) = connection.execute("pragma journal_mode").fetchone()
        (synchronous,) = connection.execute("pragma synchronous").fetchone()
        return Durability(mode, synchronous)

    def consumer(self, workers: int, kind: str) -> Any:
        """An empty queue is asked again after a millisecond: the default, 100, would cost it."""
        return self.huey.create_consumer(
            workers=workers,
            worker_type=kind,
            initial_delay=0.001,
            max_delay=0.01,
            periodic=False,
            check_worker_health=False,
        )

    def enqueue(self) -> None:
        """The next number."""
        self.take(self.accepted)
        self.accepted += 1

    def has_all(self) -> None:
        """Wait until all are executed."""
        while os.fstat(self.sink).st_size < self.accepted * NUMBER.size:
            time.sleep(0.002)

    def worker_durability(self) -> Durability:
        """From the live connection of a worker."""
        self.tell()
        while not self.told.exists():
            time.sleep(0.002)
        mode, synchronous = self.told.read_text().split()
        return Durability(mode, int(synchronous))

    def distinct(self) -> int:
        """How many arrived; none, if one came twice."""
        packed = os.pread(self.sink, os.fstat(self.sink).st_size, 0)
        numbers = [number for (number,) in NUMBER.iter_unpack(packed)]
        return len(numbers) if len(set(numbers)) == len(numbers) else 0


def run(folder: Path, seconds: float, *, workers: int, kind: str, mode: str) -> list[Taken]:
    """Enqueue for so long, wait until all is executed. `mode`: "beside" consumes meanwhile,
    "after" fills first, so that producer and consumer never wait for one another's lock.
    """
    logging.disable(logging.WARNING)
    peer = Peer(folder)
    consumer = peer.consumer(workers, kind)
    if mode == "beside":
        consumer.start()
        for _ in range(WARM):
            peer.enqueue()
        peer.has_all()
    warm, start_s, start_cpu_s = peer.accepted, time.perf_counter(), time.process_time()
    end_s = start_s + (seconds if mode == "beside" else seconds / 2)
    while time.perf_counter() < end_s:
        peer.enqueue()
    if mode == "after":
        consumer.start()
    peer.has_all()
    took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
    workers_durability = peer.worker_durability()
    consumer.stop(graceful=True)
    for _, worker in consumer.worker_threads:
        worker.join(10)
    return [
        Taken(
            name="huey",
            accepted=peer.accepted,
            recorded=peer.accepted - peer.huey.storage.queue_size(),
            received=peer.distinct(),
            timed=peer.accepted - warm,
            seconds=took_s,
            cpu_s=cpu_s + _children_s(),
            durability=min(peer.durability(), workers_durability),
            recording=workers_durability.synchronous,
        )
    ]


def _children_s() -> float:
    """What worker processes used, in all."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
