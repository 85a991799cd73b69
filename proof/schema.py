"""schema, hostile-text: many requests to every operation of a real server, good ones and bad ones."""

import asyncio
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from proof.shape import Reached
from tests.api.hostile import faults
from tests.api.served import Served
from tests.cli.prodding import prod
from tests.cli.running import TASKS
from tests.servers.postgres import PrivatePostgres

OPERATIONS_FLOOR, EXAMPLES = 24, 10
HOSTILE_FLOOR = 8_000


def prove(_seconds: float, examples: int = EXAMPLES) -> Reached:
    """No answer is a fault, and none is outside the OpenAPI."""
    with tempfile.TemporaryDirectory() as name, chdir(name):
        Path("tasks.py").write_text(TASKS)
        operations, broken = prod(Path(name), examples)
    sys.stdout.write(f"{operations} operations, {examples} examples each\n")
    sys.stdout.write("".join(f"{line}\n" for line in broken))
    return Reached(floor=OPERATIONS_FLOOR, reached=operations, broken=len(broken))


def prove_hostile(_seconds: float) -> Reached:
    """No text is answered with a fault, on SQLite and on PostgreSQL."""
    with tempfile.TemporaryDirectory() as name, PrivatePostgres() as server:
        ends = [asyncio.run(_ask(Path(name), dsn)) for dsn in ("", server.create_road())]
    broken = [line for _, found in ends for line in found]
    sys.stdout.write("".join(f"{line}\n" for line in broken))
    return Reached(HOSTILE_FLOOR, sum(asked for asked, _ in ends), len(broken))


async def _ask(folder: Path, dsn: str) -> tuple[int, list[str]]:
    async with Served(folder, dsn) as stand:
        return await faults(stand, every=1)
