"""`postroad up` as it is installed, on a database of its own: API, worker, hub, campaigns and a
timetable in one process, or in several beside their supervisor."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from bench.shape import RunFailed
from postroad.model.keyring import new_key
from postroad.ports.entropy import secret_bytes

PROGRAM = (sys.executable, "-m", "postroad")
STARTED = b"Ctrl+C stops"
STOP_S = 30.0
TASKS = """
from postroad import Postroad

road = Postroad()

@road.handler("job")
async def job(message): ...

@road.every("0 0 29 2 *")
async def seldom(): ...
"""


class WholeServer:
    """One process, or a supervisor and its processes, from the start to the end."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, dsn: str, folder: Path, processes: int) -> "WholeServer":
        """Answers when it serves."""
        (folder / "idle_tasks.py").write_text(TASKS)
        words = ("up", "--app", "idle_tasks:road", "--listen", "127.0.0.1:0", "--dsn", dsn)
        crew = ("--processes", str(processes))
        own = {"PYTHONUNBUFFERED": "1", "COLUMNS": "200", "POSTROAD_LOG_LEVEL": "error"}
        own |= {
            "POSTROAD_KEYS": new_key("bench", secret_bytes),
            "POSTROAD_HUB_LISTEN": "127.0.0.1:0",
        }
        process = await asyncio.create_subprocess_exec(
            *PROGRAM, *words, *crew, cwd=folder, env={**os.environ, **own}, stdout=PIPE
        )
        server = cls(process)
        if process.stdout is None:
            raise RunFailed("postroad up has no stdout")
        said = b""
        while STARTED not in said:
            line = await process.stdout.readline()
            if not line:
                raise RunFailed(f"postroad up has ended: {said.decode()}")
            said += line
        if b"The hub at" not in said:
            raise RunFailed("postroad up serves no hub")
        return server

    async def stop(self) -> None:
        """In good order."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(STOP_S):
                await self._process.wait()

    def kill(self) -> None:
        """Whatever happens, it ends."""
        if self._process.returncode is None:
            self._process.kill()
