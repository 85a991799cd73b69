"""hub: what an idle subscription costs, and how much goes through, against a task for each."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec

from bench import hub_stage
from bench.disk import refuse_memory, sync_us
from bench.hub_process import KINDS
from bench.shape import Refused, RunFailed, Say, Seen
from bench.stand import ROOT

NAME = "hub"
SECONDS = 60.0
SOCKETS = 200
STEPS = (10_000, 50_000, 100_000, 200_000, 500_000)
JUDGED = 200_000
BYTES_MAX = 300.0
P99_MAX_MS = 50.0
BOXES, WINDOWS = 1_000, (64, 256, 1_024)
OURS, TASKS, SLOW = KINDS


def watch(
    folder: Path,
    seconds: float,
    say: Say,
    steps: tuple[int, ...] = STEPS,
    windows: tuple[int, ...] = WINDOWS,
) -> Seen:
    """Idle subscriptions first, then traffic for so long in all."""
    refuse_memory(folder)
    judged = max(step for step in steps if step <= JUDGED)
    memory = {kind: _memory(folder, kind, steps, say) for kind in (OURS, TASKS)}
    slice_s = seconds / 2 / len(windows) / 2
    rates: dict[str, list[dict[str, float]]] = {OURS: [], SLOW: []}
    for window in windows:
        for kind, runs in rates.items():
            runs.append(_traffic(folder, kind, slice_s, window, say))
    best = {kind: max(runs, key=lambda run: run["messages_per_s"]) for kind, runs in rates.items()}
    each, other = memory[OURS][judged], memory[TASKS][judged]
    agree = all(_agrees(run) for runs in rates.values() for run in runs)
    times = best[OURS]["messages_per_s"] / best[SLOW]["messages_per_s"]
    return Seen(
        ours={"bytes_each": memory[OURS], "traffic": rates[OURS]},
        peers={"bytes_each": memory[TASKS], "traffic": rates[SLOW], "kinds": [TASKS, SLOW]},
        limit={"bytes_each": BYTES_MAX, "p99_ms": P99_MAX_MS, "fdatasync_us": sync_us(folder)},
        reached={
            "counts-agree": float(agree),
            "300-bytes-over-each": BYTES_MAX / max(each, 1.0),
            "task-bytes-over-ours": other / max(each, 1.0),
            "times-task-and-commit-each": times,
            "50-ms-over-p99-at-half-load": P99_MAX_MS / max(best[OURS]["p99_ms"], 0.01),
        },
    )


def _agrees(run: dict[str, float]) -> bool:
    counts = {run["accepted"], run["acked"], run["received"]}
    return len(counts) == 1 and run["received"] > 0 and not run["twice"] and not run["left"]


def _memory(folder: Path, kind: str, steps: tuple[int, ...], say: Say) -> dict[int, float]:
    """Bytes of the server process for each subscription, all counted: sockets, caches, garbage."""
    path = folder / "idle.db"
    if not path.exists():
        hub_stage.fill(path, max(steps))
    found: dict[int, float] = {}
    with _server(path, kind) as (server, port), _process("idle", port, SOCKETS) as clients:
        start = _rss(server.pid)
        _read(clients)
        for step in steps:
            _tell(clients, str(step))
            if _read(clients) != step:
                raise RunFailed(f"{kind}: fewer than {step} subscriptions")
            found[step] = (_rss(server.pid) - start) / step
            mark = "#" * round(found[step] / 50)
            say(f"{kind:>22} {step:>8,} idle: {found[step]:>6,.0f} bytes each {mark}")
    return found


def _traffic(folder: Path, kind: str, seconds: float, window: int, say: Say) -> dict[str, float]:
    path = folder / f"traffic-{KINDS.index(kind)}-{window}.db"
    hub_stage.fill(path, BOXES)
    with (
        _server(path, kind) as (server, port),
        _process("traffic", port, BOXES, window, seconds) as clients,
    ):
        _read(clients)
        run: dict[str, float] = _read(clients)
        _tell(server, "durability")
        run |= {"window": window, **_read(server)}
    if run["synchronous"] != 2:
        raise Refused(f"{kind}: commits are not on the disk when they are answered")
    run["left"] = _left(path)
    say(
        f"{kind:>40}, {window:>5} under way: {run['messages_per_s']:>7,.0f} messages/s; at half"
        f" load median {run['p50_ms']:.1f}, p99 {run['p99_ms']:.1f} ms"
    )
    return run


def _left(path: Path) -> int:
    connection = apsw.Connection(str(path))
    try:
        (row,) = connection.execute("select count(*) from letter").fetchall()
        return int(str(row[0]))
    finally:
        connection.close()


@contextmanager
def _server(path: Path, kind: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    command = (sys.executable, "-m", "bench.hub_process", str(path), kind)
    with _popen(command) as process:
        yield process, int(_read(process))


@contextmanager
def _process(what: str, *values: float) -> Iterator["subprocess.Popen[str]"]:
    command = (sys.executable, "-m", "bench.hub_clients", what, *map(str, values))
    with _popen(command) as process:
        yield process


@contextmanager
def _popen(command: tuple[str, ...]) -> Iterator["subprocess.Popen[str]"]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    try:
        yield process
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _tell(process: "subprocess.Popen[str]", word: str) -> None:
    if process.stdin is None:
        raise RunFailed("no stdin")
    process.stdin.write(word + "\n")
    process.stdin.flush()


def _read(process: "subprocess.Popen[str]") -> Any:
    line = process.stdout.readline() if process.stdout is not None else ""
    if not line:
        raise RunFailed(f"a process of the hub's benchmark has ended, {process.wait()}")
    return msgspec.json.decode(line)


def _rss(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024
