"""Signals: a run ends in good order, and who heard them before it hears them still."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

WAIT_S = 60
WIDE = pytest.mark.wide
SIGNALS = [
    (signal.SIGTERM, "asyncio"),
    pytest.param(signal.SIGTERM, "uvloop", marks=WIDE),
    pytest.param(signal.SIGINT, "asyncio", marks=WIDE),
    (signal.SIGINT, "uvloop"),
]
SERVED = """
import asyncio, sys
from contextlib import asynccontextmanager
import uvicorn
from starlette.applications import Starlette
from postroad import Postroad

road = Postroad(f"sqlite:///{sys.argv[1]}/road.db")

@road.handler("work")
async def work(message):
    print("up", flush=True)
    await asyncio.sleep(0.2)
    print("worked", flush=True)

async def tell(server):
    while not server.started:
        await asyncio.sleep(0.01)
    await road.send("work", 1)

@asynccontextmanager
async def lifespan(app):
    async with road:
        worker = asyncio.create_task(road.run())
        telling = asyncio.create_task(tell(server))
        yield
        await telling
        road.stop()
        await worker
        print("down", flush=True)

config = uvicorn.Config(
    Starlette(lifespan=lifespan), port=0, loop=sys.argv[2], log_level="error"
)
server = uvicorn.Server(config)
server.run()
"""
HOSTED = """
import asyncio, signal, sys
from postroad import Postroad

def leave(number, frame):
    print("left", flush=True)
    sys.exit(7)

async def work(message):
    print("up", flush=True)
    await asyncio.sleep(0.5)
    print("worked", flush=True)

async def main(roads):
    runs = {}
    async with roads["a"], roads["b"]:
        for name, road in roads.items():
            before = signal.getsignal(signal.SIGTERM)
            runs[name] = asyncio.create_task(road.run())
            while signal.getsignal(signal.SIGTERM) is before:
                await asyncio.sleep(0.01)
        for name in sys.argv[2:]:
            roads[name].stop()
            await runs.pop(name)
        await roads[next(iter(runs))].send("work", 1)
        await asyncio.gather(*runs.values())

signal.signal(signal.SIGTERM, leave)
roads = {name: Postroad(f"sqlite:///{sys.argv[1]}/{name}.db") for name in "ab"}
for road in roads.values():
    road.handler("work")(work)
asyncio.run(main(roads))
print("not told")
"""
ROAD = """
import asyncio, os, signal, sys
from postroad import Postroad

road = Postroad(f"sqlite:///{sys.argv[1]}/road.db")

@road.handler("work")
async def work(message):
    print("up", flush=True)
    await asyncio.sleep(0.5)
    print("worked", flush=True)
"""
IN_LOOP = f"""{ROAD}
async def main():
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    async with road:
        await road.send("work", 1)
        await road.run()
        await told.wait()
        told.clear()
        os.kill(os.getpid(), signal.SIGTERM)
        await told.wait()
    print("told twice", flush=True)

asyncio.run(main())
"""
ALONE = f"""{ROAD}
async def main():
    async with road:
        await road.send("work", 1)
        await road.run()
    print("ended", flush=True)

if sys.argv[2] == "uvloop":
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""


def ended_by(number: signal.Signals, code: str, *words: str) -> tuple[int, list[str]]:
    """A program that gets the signal when it says "up": its exit code, and what it said after."""
    command = (sys.executable, "-c", code, *words)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "up\n"
            child.send_signal(number)
            # Not `communicate`, which loses what has come together with that line.
            said = child.stdout.read()
            child.wait(WAIT_S)
        finally:
            child.kill()
    return child.returncode, said.splitlines()


@pytest.mark.parametrize(("number", "loop"), SIGNALS)
def test_a_server_around_the_road_hears_its_signals(
    tmp_path: Path, number: signal.Signals, loop: str
) -> None:
    """It was deaf to them unless it was told `hears_signals = False`."""
    code, said = ended_by(number, SERVED, str(tmp_path), loop)
    assert said == ["worked", "down"]
    assert code in (0, -number, 130)


def test_a_host_that_listens_by_the_loop_hears_its_signals(tmp_path: Path) -> None:
    """It heard nothing, then and later."""
    assert ended_by(signal.SIGTERM, IN_LOOP, str(tmp_path)) == (0, ["worked", "told twice"])


@pytest.mark.parametrize("over", ["", "a", "b"])
def test_a_signal_goes_from_run_to_run_and_to_who_heard_it_before(
    tmp_path: Path, over: str
) -> None:
    """Whichever of them has ended by itself meanwhile; what is in flight is finished first."""
    assert ended_by(signal.SIGTERM, HOSTED, str(tmp_path), *over) == (7, ["worked", "left"])


@pytest.mark.parametrize(("number", "loop"), SIGNALS)
def test_with_nobody_around_it_a_run_ends_in_good_order(
    tmp_path: Path, number: signal.Signals, loop: str
) -> None:
    assert ended_by(number, ALONE, str(tmp_path), loop) == (0, ["worked", "ended"])
