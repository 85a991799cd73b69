"""SIGTERM: what is in flight ends within the drain time or is given back, and costs nothing."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.killing import finish
from tests.crash.orders import Order, Parcel, tag
from tests.crash.stand import PATIENCE_S, Stand
from tests.crash.states import State

DRAIN_S = 3.0
MARGIN_S = 60.0
"""For a busy machine; the slow handlers take twice as long."""
SLOW_MS = 120_000
pytestmark = pytest.mark.wide

UNTOUCHED = ("waiting", 0, 0, 0)


FLOODED = """
import asyncio, os, signal, sys, threading
from postroad import Postroad

road = Postroad(f"sqlite:///{sys.argv[1]}/road.db")

def flood(loop):
    for _ in range(5_000):
        loop.call_soon_threadsafe(lambda: None)
    os.kill(os.getpid(), signal.SIGTERM)

@road.handler("work")
async def work(message):
    busy = threading.Thread(target=flood, args=[asyncio.get_running_loop()])
    busy.start()
    busy.join()  # nothing else runs in this loop meanwhile

async def main():
    async with road:
        await road.send("work", 1)
        await road.run()

asyncio.run(main())
print("ended in good order")
"""


@pytest.fixture
def stand() -> Iterator[Stand]:
    with Stand() as stand:
        yield stand


def state(stand: Stand, parcel: Parcel) -> State:
    (name,) = {entry.id for entry in stand.book.said("accepted") if entry.tag == parcel.tag}
    return stand.found().messages[name]


def shape(state: State) -> tuple[str, int, int, int]:
    return (state.state, state.attempts, state.level, state.marks)


def starts(stand: Stand, parcel: Parcel) -> int:
    return sum(entry.tag == parcel.tag for entry in stand.book.said("start"))


def run_and_stop(stand: Stand, parcels: list[Parcel]) -> tuple[int, float]:
    """SIGTERM when all have started; answers the exit code and how long the end took."""
    process = stand.fresh(Order(parcels=parcels, drain_s=DRAIN_S))
    stand.wait(lambda: len(stand.book.said("start")) >= len(parcels), "all start")
    return stop(stand, process)


def stop(stand: Stand, process: "subprocess.Popen[bytes]") -> tuple[int, float]:
    start_s = time.monotonic()
    process.terminate()
    # The ledger is read meanwhile: a full pipe would stop it, and what is in flight with it.
    stand.wait(lambda: stand.entries[-1].word == "gone", "its last word")
    code = process.wait(PATIENCE_S)
    return code, time.monotonic() - start_s


@pytest.mark.parametrize("queue", ["quick", "plain", "keys", "flaky"])
def test_a_slow_handler_is_given_back_and_spends_no_attempt(stand: Stand, queue: str) -> None:
    slow = Parcel(tag(queue, 0, 0, "a" if queue == "keys" else "-"), wait_ms=SLOW_MS)
    # Those that take 100 ms are in flight when the signal comes, and end within the drain time.
    quick = [Parcel(tag("quick", 0, n), wait_ms=n % 2 * 100) for n in range(1, 21)]
    code, took_s = run_and_stop(stand, [slow, *quick])
    assert code == 0, stand.stderr()
    assert took_s < DRAIN_S + MARGIN_S
    assert [state(stand, parcel).state for parcel in quick] == ["delivered"] * 20
    assert shape(state(stand, slow)) == UNTOUCHED
    found = stand.found()
    assert (found.attempt_rows, found.lanes_owned, found.lanes_suspect) == (0, 0, 0)
    assert finish(stand).count("delivered") == 21
    assert starts(stand, slow) == 2


def test_all_threads_busy_do_not_delay_the_end(stand: Stand) -> None:
    # asyncio's own pool has as few as 6 threads: nothing that ends the process may need one.
    slow = [Parcel(tag("plain", 0, number), wait_ms=SLOW_MS) for number in range(40)]
    process = stand.fresh(Order(parcels=slow, drain_s=DRAIN_S))
    stand.wait(lambda: len(stand.book.said("start")) >= 5, "five start")
    code, took_s = stop(stand, process)
    assert code == 0, stand.stderr()
    assert took_s < DRAIN_S + MARGIN_S
    assert {shape(message) for message in stand.found().messages.values()} == {UNTOUCHED}


def test_a_stop_after_a_kill_leaves_no_mark(stand: Stand) -> None:
    slow = Parcel(tag("quick", 0, 0), wait_ms=SLOW_MS)
    stand.live(Order(parcels=[slow]))
    stand.wait_said("start")
    stand.kill()
    assert stand.found().lanes_owned > 0
    process = stand.fresh(Order(drain_s=DRAIN_S))
    stand.wait(lambda: starts(stand, slow) == 2, "it starts again")
    assert state(stand, slow).marks == 1
    stop(stand, process)
    assert shape(state(stand, slow)) == UNTOUCHED


def test_at_most_once_cut_by_a_stop_is_uncertain_and_not_resent(stand: Stand) -> None:
    slow = Parcel(tag("once", 0, 0), wait_ms=SLOW_MS)
    code, _ = run_and_stop(stand, [slow])
    assert code == 0, stand.stderr()
    assert state(stand, slow).state == "uncertain"
    assert finish(stand).count("uncertain") == 1
    assert starts(stand, slow) == 1


def test_at_most_once_not_started_before_a_stop_is_not_in_doubt(stand: Stand) -> None:
    parcels = [Parcel(tag("once", 0, number), wait_ms=20) for number in range(1_500)]
    process = stand.fresh(Order(parcels=parcels, drain_s=PATIENCE_S / 2))
    stand.wait(lambda: len(stand.book.said("done")) >= 100, "a hundred are done")
    code, _ = stop(stand, process)
    assert code == 0, stand.stderr()
    started = set(stand.book.starts)
    found = stand.found()
    assert {name for name, m in found.messages.items() if m.state == "delivered"} == started
    assert (found.count("uncertain"), sum(m.marks for m in found.messages.values())) == (0, 0)
    assert finish(stand).count("delivered") == len(parcels)


def test_a_signal_is_heard_that_comes_while_the_loop_is_held_up(tmp_path: Path) -> None:
    """Asyncio told "BlockingIOError", and went on: of 278 calls from other threads that wait, the
    last one fills its pipe."""
    command = [sys.executable, "-c", FLOODED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "ended in good order\n", done.stderr
