"""`postroad top`, `plot` and `workers`: what is shown, in which order, and that they wait."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from postroad.cli import watching
from postroad.cli.charts import columns, late_text, sparkline
from postroad.cli.client import RequestRefused
from postroad.cli.top import _lines
from postroad.cli.top_view import drawn, troubles
from postroad.model.errors import StoreUnavailable
from postroad.model.problem import Problem
from tests.cli.running import PROGRAM, TASKS, UP, data, door, postroad, running, start

NOW = 1_700_000_000_000
QUEUE = {"block": "", "paused": False, "waiting": 0, "held": 0, "dead": 0, "because": ""}
LANE = {
    "transport": "webhook", "server": "https://a.example", "waiting": 0, "held": 0, "because": "",
    "circuit": {"opened": 0, "until_ms": 0, "reason": ""},
}  # fmt: skip
WORKER = {
    "host": "h", "pid": 1, "version": "1", "state": "working", "lanes": 3,
    "started_at_ms": NOW - 60_000, "heard_at_ms": NOW - 1_000,
}  # fmt: skip


def total(**figures: Any) -> dict[str, Any]:
    said = {"tries": {"delivered": 600}, "tries_per_second": 10.0, "dead": 0}
    return said | {"late_p50_ms": 4, "late_p99_ms": 1_500} | figures


def point(at_ms: int, name: str, count: int) -> dict[str, Any]:
    return {"at_ms": at_ms, "name": name, "tries": {"delivered": count}, "late_p99_ms": 7}


def look(**parts: Any) -> dict[str, Any]:
    stats = {
        "now_ms": NOW, "waiting": 5, "held": 0, "uncertain": 0, "dead": {}, "uncertain_recipients": 0,
        "oldest_due_ms": NOW - 1_000, "open_circuits": 0, "blocked_queues": 0, "paused_queues": 0, "disabled_endpoints": 0,
        "minute": total(), "hour": total(),
    }  # fmt: skip
    figures = {
        "since_ms": NOW - 600_000,
        "complete_until_ms": NOW,
        "points": [point(NOW - n * 10_000, "webhook:https://a.example", n) for n in range(1, 60)],
    }
    made = {"stats": stats, "queues": [], "lanes": [LANE], "workers": [WORKER], "levels": []}
    made |= {"jobs": []}
    return made | {"figures": figures} | parts


def test_trouble_comes_first_and_has_its_reason() -> None:
    circuit = {"opened": 1, "until_ms": NOW + 4_000, "reason": "connection refused"}
    lanes = [LANE | {"held": 7, "circuit": circuit, "because": "circuit open: connection refused"}]
    queues = [QUEUE | {"queue": "q", "held": 2, "because": "paused"}]
    lost = WORKER | {"pid": 2, "state": "lost", "heard_at_ms": NOW - 90_000}
    stats = look()["stats"] | {"uncertain": 1, "hour": total(dead=3), "uncertain_recipients": 2}
    stats["oldest_due_ms"] = NOW - 300_000
    seen = look(lanes=lanes, queues=queues, workers=[WORKER, lost], stats=stats)
    assert list(troubles(seen)) == [
        "lost: worker 2 on h, silent for 1 min 30 s",
        "circuit open: webhook https://a.example, 7 held, next probe in 4 s: connection refused",
        "held: 2 of q: paused",
        "the dead set grew: by 3 in the last hour",
        "1 uncertain: settle them with `postroad message settle`",
        "2 recipients of campaigns are uncertain: settle them with `postroad campaign settle`",
        "late: the first message is due for 5 min, and nothing holds it",
    ]
    lines = drawn(seen, 120, 40)
    assert lines[4].startswith("! lost")
    heads = [line.split()[0] for line in lines if line.split()[0:1] in (["lanes"], ["queue"])]
    assert heads == ["lanes", "queue"]
    alone = look(workers=[lost | {"heard_at_ms": NOW - 86_000_000}])
    assert list(troubles(alone)) == ["nobody delivers: 5 messages wait, and no worker is alive"]
    assert "no trouble" in drawn(look(), 80, 24)
    large = look(stats=look()["stats"] | {"open_circuits": 3, "blocked_queues": 2})
    assert list(troubles(large)) == [
        "3 more circuits are open: see `postroad lanes`",
        "2 more queues are blocked or paused: see `postroad queues`",
    ]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 50), (40, 10), (20, 5)])
def test_the_view_fits_and_uses_the_space_it_has(width: int, height: int) -> None:
    queues = [QUEUE | {"queue": f"https://{n}.example/" + "x" * 200} for n in range(100)]
    queues[3] |= {"held": 1, "because": "quota: " + "y" * 200}
    levels = [{"level": 0, "waiting": 1, "held": 0, "oldest_due_ms": NOW}]
    lines = drawn(look(queues=queues, lanes=[LANE] * 100, levels=levels), width, height)
    assert max(map(len, lines)) <= width
    assert len(lines) <= height
    if height >= 24:
        assert len(lines) >= height - 3
        assert any(line.startswith("worker") for line in lines)
        assert any("of 100)" in line for line in lines)
    assert any("last 5 min" in line for line in lines) == (width == 160)


def test_nothing_is_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    why = "quota: " + "y" * 200
    queues = [QUEUE | {"queue": f"https://{n}.example/" + "x" * 200} for n in range(60)]
    for line in _lines(look(queues=[queues[0] | {"held": 1, "because": why}, *queues[1:]])):
        print(line)  # noqa: T201
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert shown.count("x" * 200) == 61
    assert shown.count(why) == 2


def test_the_rate_is_that_of_the_fleet_and_the_sparkline_ends_now() -> None:
    lines = drawn(look(), 100, 24)
    assert "10 tries/s" in lines[1]
    assert "p50 4 ms, p99 1.5 s" in lines[1]
    assert lines[2].startswith(" █")
    assert "▁│ tries/s, last 10 min, most 5.9" in lines[2]


def test_a_chart_shows_what_is_not_zero() -> None:
    assert sparkline([]) == ""
    assert sparkline([0, 0]) == "  "
    assert sparkline([0, 0.001, 4, 8]) == " ▁▄█"
    assert columns([0, 1, 4], 2) == ["4.0 ┤  █", "2.0 ┤ ▄█", "  0 ┼───"]
    assert columns([0, 3], 2, late_text) == ["  3 ms ┤ █", "1.5 ms ┤ █", "     0 ┼──"]
    assert columns([0, 0.01], 2)[1] == "0.005 ┤ █"


def test_a_road_without_traffic_is_plotted_and_its_workers_are_none(road: str) -> None:
    assert road
    for last in ("hour", "week"):
        shown = postroad("plot", "--last", last)
        assert shown.exit_code == 0
        assert shown.stdout.count(f"last {last}") == 3
    assert data("plot")["points"] == []
    wrong = postroad("plot", "--last", "year")
    assert (wrong.exit_code, "give hour or week" in wrong.stderr) == (2, True)
    assert data("workers")["workers"] == []
    assert "nobody delivers" in postroad("workers").stderr


def test_a_look_is_made_again_while_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "AGAIN_S", 0.0)
    problem = Problem("about:blank", "Away", 503, "it is being stopped")
    ends: list[Exception] = [StoreUnavailable("no answer"), RequestRefused(problem)]
    told: list[str] = []

    def ask() -> str:
        if ends:
            raise ends.pop()
        return "here"

    assert watching.answered(ask, told.append) == "here"
    assert told == [
        "waiting for the server to come back: it is being stopped",
        "waiting for the server to come back: no answer",
    ]
    ends.append(RequestRefused(replace(problem, status=403)))
    with pytest.raises(RequestRefused):
        watching.answered(ask, told.append)


@pytest.mark.wide
def test_top_waits_for_a_server_that_is_restarted(folder: Path) -> None:
    """The next one is found by itself."""
    (folder / "tasks.py").write_text(TASKS)
    with running(folder, *UP) as (first, _):
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}
        watcher = subprocess.Popen(
            (*PROGRAM, "top", "--json", "--every", "0.1", "--dsn", UP[-1]),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        assert watcher.stdout is not None
        assert watcher.stderr is not None
        try:
            assert json.loads(watcher.stdout.readline())["stats"]["waiting"] == 0
            first.send_signal(signal.SIGTERM)
            first.wait(60)
            assert "waiting for the server to come back" in watcher.stderr.readline()
            second = start(folder, *UP)
            try:
                door(second, folder)
                until = time.monotonic() + 60
                seen: set[int] = set()
                while second.pid not in seen:
                    assert time.monotonic() < until
                    seen |= {each["pid"] for each in _next(watcher.stdout.readline())}
            finally:
                second.send_signal(signal.SIGTERM)
                second.communicate(timeout=60)
        finally:
            watcher.kill()
            watcher.communicate(timeout=60)


def _next(line: str) -> list[dict[str, Any]]:
    workers: list[dict[str, Any]] = json.loads(line)["workers"]
    return workers
