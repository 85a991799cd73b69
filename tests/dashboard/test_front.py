"""Pages are loaded when the first one is asked for, and never for the API."""

import subprocess
import sys
from pathlib import Path

from tests.dashboard.stand import PageStand

LOADED = """
import asyncio, pathlib, sys
from tests.dashboard.stand import PageStand
async def story():
    async with PageStand(pathlib.Path(sys.argv[1])) as stand:
        told = []
        for path in ("/healthz", "/v1/queues", "/metrics", "/", "/"):
            await stand.get(path)
            told.append("jinja2" in sys.modules)
        print("loaded", *told)
asyncio.run(story())
"""

CROWDED = """
import asyncio, os, pathlib, resource, sys
from tests.dashboard.stand import PageStand
async def story():
    async with PageStand(pathlib.Path(sys.argv[1])) as stand:
        await stand.get("/healthz")
        free = os.dup(0)
        os.close(free)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
        try:
            await stand.get("/")
        except OSError as error:
            print(error.strerror)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        print((await stand.get("/")).status)
asyncio.run(story())
"""
"""No descriptor is left when the first page is asked for."""


def test_pages_that_could_not_be_loaded_are_loaded_for_the_next_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CROWDED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-2:] == ["Too many open files", "303"], done.stderr


def test_only_a_page_loads_the_pages(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.rpartition("loaded")[2].split() == ["False"] * 3 + ["True"] * 2


async def test_every_path_is_answered(tmp_path: Path) -> None:
    async with PageStand(tmp_path) as stand:
        answers = {path: await stand.get(path) for path in ("/", "//", "/v1", "/nothing", "/%ff")}
    assert {path: answer.status for path, answer in answers.items()} == {
        "/": 303,
        "//": 303,
        "/v1": 404,
        "/nothing": 404,
        "/%ff": 404,
    }
