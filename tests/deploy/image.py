"""Does by hand what a builder does with deploy/Dockerfile, in a folder that stands for the root."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

from scripts.wide import find

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"


class Step(Struct, frozen=True):
    """One instruction."""

    word: str
    rest: str


def stages() -> list[list[Step]]:
    """The instructions of each stage."""
    text = re.sub(r"\\\n\s*", " ", DOCKERFILE.read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    steps = [Step(*line.split(maxsplit=1)) for line in lines]
    starts = [at for at, step in enumerate(steps) if step.word == "FROM"]
    return [steps[a:b] for a, b in zip(starts, [*starts[1:], len(steps)], strict=True)]


def told(word: str) -> str:
    """What the last stage says of something, the last time."""
    return [step.rest for step in stages()[-1] if step.word == word][-1]


def environment() -> dict[str, str]:
    """The variables that the image sets."""
    return dict(pair.split("=", 1) for pair in shlex.split(told("ENV")))


def health_command(python: str, port: int) -> list[str]:
    """The health check, asking at another port."""
    command: list[str] = json.loads(told("HEALTHCHECK").partition("CMD ")[2])
    assert command[0] == "python"
    return [python, *(word.replace(":8600/", f":{port}/") for word in command[1:])]


def interpreter() -> Path:
    """The Python that the image has, where this machine has it; otherwise that of the tests."""
    version = re.match(r"python:(3\.\d+)-", stages()[0][0].rest)
    assert version
    return find(version[1]) or Path(sys.executable)


def base_of(python: Path) -> Path:
    """The folder that an interpreter is installed in."""
    ask = (str(python), "-c", "import sys; print(sys.base_prefix)")
    return Path(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip())


def build(folder: Path) -> Path:
    """Run the first stage; returns the environment that the second one copies."""
    made, source = folder / "opt", folder / "src"
    source.mkdir(parents=True)
    for step in stages()[0]:
        if step.word == "COPY":
            _copy(step.rest.split(), source)
        elif step.word == "RUN":
            words = step.rest.replace("/opt/postroad", str(made)).split()
            words[0] = str(interpreter()) if words[0] == "python" else words[0]
            subprocess.run(words, cwd=source, check=True, capture_output=True, env=_bare())
    return made


def _bare() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if not name.startswith("POSTROAD_")}


def _copy(words: list[str], source: Path) -> None:
    *names, target = words
    for name in names:
        place = source / (name if target == "./" else target)
        place.parent.mkdir(parents=True, exist_ok=True)
        here = ROOT / name
        (shutil.copytree if here.is_dir() else shutil.copy)(here, place)
