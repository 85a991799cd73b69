"""Somebody who follows a tutorial: types its commands in several terminals, saves its files, and compares
what is shown.

A block of `console` is typed: lines with `$ ` are commands, the others are printed, in this order,
perhaps with more between them; `…` stands for any text. A comment before it names a terminal whose
program runs on; `^C` ends it. `<!-- NAME prints -->` is before what that terminal prints later. A
block whose first line is `# NAME.py` or `# NAME.toml` is saved, and so is CSV, as people.csv.
Commands that only look are repeated until they show it. Ports become free ones.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Self

from tests.servers import free_port

BLOCK = re.compile(r"(?:^<!-- ([\w ]+) -->\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ID = re.compile(r"msg_\w{13}")
PORT = re.compile(r"\b(?:8600|8601|8700|8025)\b")
LOOKS = tuple(
    f"postroad {verb}"
    for verb in ("message explain", "message result", "campaign show", "campaign recipients")
)
PATIENCE_S = 120


class NotShown(AssertionError):
    """A tutorial shows what its reader does not see."""


def shows(printed: str, shown: list[str]) -> bool:
    """Whether lines have been printed in this order."""
    rest = iter(printed.splitlines())
    return all(any(_like(line).fullmatch(each.rstrip()) for each in rest) for line in shown)


def _like(line: str) -> re.Pattern[str]:
    parts = (re.escape(part) for part in ID.sub("…", line).split("…"))
    return re.compile(".*".join(parts), re.DOTALL)


class Reader:
    """Follows one tutorial in one folder; leaves no process behind."""

    def __init__(self, folder: Path, programs: Path) -> None:
        """`programs`: the `bin` of the environment where Postroad is installed."""
        self.folder = folder
        self._ports: dict[str, str] = {}
        self._terminals: dict[str, tuple[subprocess.Popen[bytes], Path]] = {}
        self._last_id = ""
        self._env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("POSTROAD_", "PYTHON"))},
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONUNBUFFERED": "1",  # a terminal shows what is printed at once
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "POSTROAD_LISTEN": self.with_free_ports("127.0.0.1:8600"),
            "POSTROAD_HUB_LISTEN": self.with_free_ports("127.0.0.1:8601"),
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process, _output in self._terminals.values():
            process.kill()
            process.wait()

    def with_free_ports(self, text: str) -> str:
        """The text with the ports of this run."""
        return PORT.sub(lambda port: self._ports.setdefault(port[0], str(free_port())), text)

    def follow(self, tutorial: str) -> int:
        """Do all that it says. How many blocks it has is answered."""
        blocks = BLOCK.findall(tutorial)
        for terminal, kind, text in blocks:
            self._do(terminal, kind, self.with_free_ports(text))
        return len(blocks)

    def _do(self, terminal: str, kind: str, text: str) -> None:
        if kind == "console":
            self._type(terminal, text)
        elif kind == "text":
            self._await(terminal.removesuffix(" prints"), text.splitlines())
        elif kind == "csv":
            (self.folder / "people.csv").write_text(text)
        else:
            name = text.partition("\n")[0].removeprefix("# ")
            if not re.fullmatch(r"\w+\.(py|toml)", name):
                raise NotShown(f"nobody is told where to save this:\n{text}")
            (self.folder / name).write_text(text)

    def _type(self, terminal: str, text: str) -> None:
        if text.startswith("^C"):
            process, _ = self._terminals.pop(terminal)
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
            return
        for typed in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, *shown = typed.splitlines()
            if terminal:
                self._start(terminal, command)
                self._await(terminal, shown)
            elif command.startswith("export "):
                name, _, value = command.removeprefix("export ").partition("=")
                self._env[name] = value
            else:
                self._run(command.replace("msg_…", self._last_id), shown)

    def _run(self, command: str, shown: list[str]) -> None:
        until = time.monotonic() + PATIENCE_S
        while True:
            done = subprocess.run(
                ("bash", "-c", command),
                cwd=self.folder,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if done.returncode == 0 and shows(done.stdout, shown):
                break
            if not command.startswith(LOOKS) or time.monotonic() > until:
                raise NotShown(f"$ {command}\n{done.stdout}\nand not:\n{shown}{self._outputs()}")
        if command.startswith("postroad send") and (found := ID.search(done.stdout)):
            self._last_id = found[0]

    def _start(self, terminal: str, command: str) -> None:
        output = self.folder / f"{terminal}.{len(list(self.folder.glob('*.out')))}.out"
        with output.open("wb") as out:
            process = subprocess.Popen(
                ("bash", "-c", f"exec {command}"),
                cwd=self.folder,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self._terminals[terminal] = (process, output)

    def _await(self, terminal: str, shown: list[str]) -> None:
        process, output = self._terminals[terminal]
        until = time.monotonic() + PATIENCE_S
        while not shows(output.read_text(), shown):
            if process.poll() is not None or time.monotonic() > until:
                raise NotShown(f"{terminal} did not print {shown}{self._outputs()}")
            time.sleep(0.05)

    def _outputs(self) -> str:
        texts = [f"\n--- {path.name}\n{path.read_text()}" for path in self.folder.glob("*.out")]
        return "".join(texts)
