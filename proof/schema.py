"""schema: many requests to every operation of a real server, good ones and bad ones."""

import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from proof.shape import Reached
from tests.cli.prodding import prod
from tests.cli.running import TASKS

OPERATIONS_FLOOR, EXAMPLES = 24, 10


def prove(_seconds: float, examples: int = EXAMPLES) -> Reached:
    """No answer is a fault, and none is outside the OpenAPI."""
    with tempfile.TemporaryDirectory() as name, chdir(name):
        Path("tasks.py").write_text(TASKS)
        operations, broken = prod(Path(name), examples)
    sys.stdout.write(f"{operations} operations, {examples} examples each\n")
    sys.stdout.write("".join(f"{line}\n" for line in broken))
    return Reached(floor=OPERATIONS_FLOOR, reached=operations, broken=len(broken))
