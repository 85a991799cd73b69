"""What an extra brings is missed by nothing else, and missed with an error that names it."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

from postroad.model.errors import MissingExtra
from postroad.model.extras import EXTRAS, Needing

ROOT = Path(__file__).parents[2]
MODULES = {"dnspython": "dns", "google_re2": "re2"}
"""Libraries whose module has another name."""
OPTIONAL = (*EXTRAS, "uvloop", "opentelemetry")
BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""
COMMAND = "from postroad.cli.main import main; main()"
ROAD = """
import asyncio
from postroad import Postroad, PostroadError
from postroad.stores.window_socket import connect

seen = []
road = Postroad("sqlite:///road.db")

@road.handler("good")
async def good(message):
    seen.append(message.body)

async def main():
    async with road:
        await road.send("good", 1)
        await road.webhooks.set("https://1.1.1.1/", secrets=["whsec_" + "a" * 32])
        await road.run(until_idle=True)
        line = await asyncio.to_thread(connect, "sqlite:///road.db", 30)
        await asyncio.to_thread(line.sendall, b"GET /v1/stats HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n")
        seen.append(await asyncio.to_thread(line.recv, 12))
"""


def without(
    missing: Iterable[str], folder: Path, code: str, *words: str
) -> "subprocess.CompletedProcess[str]":
    """Run code in a process where these libraries are not installed."""
    program = BLOCKED.format(missing=tuple(missing)) + code
    return subprocess.run(
        (sys.executable, "-c", program, *words),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.wide
def test_the_core_sends_runs_and_has_its_commands_without_any_extra(tmp_path: Path) -> None:
    code = f"{ROAD}\nasyncio.run(main())\nprint(seen)"
    made = without(OPTIONAL, tmp_path, code)
    assert made.stdout.endswith("[1, b'HTTP/1.1 200']\n"), made.stderr
    for words in (("send", "good", "2"), ("queues",), ("--help",), ("campaign", "list")):
        done = without(OPTIONAL, tmp_path, COMMAND, *words)
        assert done.returncode == 0, done.stderr
    assert without((), tmp_path, COMMAND, "send", "good", "3").returncode == 0


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("up",), "server"),
        (("worker",), "server"),
        (("hub",), "server"),
        (("queues", "--dsn", "postgresql://h/d"), "postgres"),
        (("migrate", "--dsn", "postgresql://h/d"), "postgres"),
        (("store", "copy", "sqlite:///a.db", "postgresql://h/d"), "postgres"),
        (("up", "--dsn", "amqp://h"), "server"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_a_command_whose_extra_is_missing_names_it(
    tmp_path: Path, words: tuple[str, ...], extra: str
) -> None:
    done = without(OPTIONAL, tmp_path, COMMAND, *words)
    assert done.returncode == 1
    assert f"pip install 'postroad[{extra}]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("Postroad('postgresql://h/d')", "postgres"),
        ("Postroad('amqp://h')", "rabbitmq"),
        (
            "from postroad.campaigns.rendering import templates_of; from postroad.model.campaign import Spec; templates_of(Spec('hello'))",
            "server",
        ),
        (
            "from postroad.hub.client import HubClient as H; asyncio.run(H('ws://127.0.0.1:9').open())",
            "server",
        ),
        ("from postroad.observe.metrics import Meter; Meter().text()", "server"),
    ],
)
def test_a_program_whose_extra_is_missing_is_told_its_name(
    tmp_path: Path, code: str, extra: str
) -> None:
    program = (
        "import asyncio\nfrom postroad import Postroad, PostroadError\n"
        f"try:\n    {code}\nexcept PostroadError as error:\n    print(type(error).__name__, error)"
    )
    done = without(OPTIONAL, tmp_path, program)
    assert done.stdout.startswith("MissingExtra "), done.stderr
    assert f"pip install 'postroad[{extra}]'" in done.stdout


def test_every_extra_names_what_it_brings() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = project["optional-dependencies"]
    brought = {
        (re.split(r"[>\[]", each)[0].replace("-", "_"), extra)
        for extra, libraries in named.items()
        for each in libraries
        if not each.startswith("postroad[")
    }
    modules = {(MODULES.get(library, library), extra) for library, extra in brought}
    assert modules - {("uvloop", "fast"), ("asyncpg", "rabbitmq")} == set(EXTRAS.items())
    assert len(project["dependencies"]) <= 6


def test_a_library_that_is_no_extra_is_missed_as_ever() -> None:
    with pytest.raises(ModuleNotFoundError), Needing("this"):
        import nothing_of_that_name  # type: ignore[import-not-found]  # noqa: F401
    with (
        pytest.raises(MissingExtra, match=r"this needs picows.*postroad\[server\]"),
        Needing("this"),
    ):
        raise ModuleNotFoundError("no", name="picows.picows")
