"""One contestant in a process of its own: `python -m bench.stand MODULE:FUNCTION OPTIONS`."""

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.shape import Options, Run, RunFailed, Taken

ROOT = Path(__file__).parents[1]
PATIENCE = 20
"""A run that takes so many times its slice, and two minutes more, is stuck."""


def start(run: Run, folder: Path, seconds: float) -> list[Taken]:
    """Run it and wait for what it gives."""
    order = msgspec.json.encode({"folder": str(folder), "seconds": seconds, **run.options})
    command = (sys.executable, "-m", "bench.stand", run.call, order.decode())
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            check=False,
            text=True,
            timeout=120 + PATIENCE * seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"{run.call} ({run.setting}) is stuck") from error
    if done.returncode:
        raise RunFailed(f"{run.call} ({run.setting}) failed:\n{done.stdout}{done.stderr}")
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=list[Taken])


def main(call: str, order: str) -> None:
    module, name = call.split(":")
    function: Callable[..., list[Taken]] = getattr(importlib.import_module(module), name)
    options = msgspec.json.decode(order, type=dict[str, int | float | str])
    folder, seconds = Path(str(options.pop("folder"))), float(options.pop("seconds"))
    kept: Options = {key: value for key, value in options.items() if not isinstance(value, float)}
    sys.stdout.write(msgspec.json.encode(function(folder, seconds, **kept)).decode() + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
