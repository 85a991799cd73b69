"""docs/reference/capabilities.md: each capability has its route and its command, and no route or
command is outside the table."""

import re
from pathlib import Path
from typing import Any

from postroad.api.app import ROUTES
from postroad.app import Postroad
from postroad.cli.root import app

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "capabilities.md"
ROW = re.compile(
    r"^\| (?P<what>[^|`]+?) \| (?P<http>[^|]+?) \| (?P<command>[^|]+?) \| (?P<last>[^|]+?) \|$",
    re.MULTILINE,
)


def rows(text: str) -> list[dict[str, str]]:
    found = [match.groupdict() for match in ROW.finditer(text)]
    return [row for row in found if row["what"] not in ("capability", "---")]


def routes() -> set[str]:
    """All routes, as `GET /v1/…/{id}`."""
    return {f"{route.method} {route.path}" for route in ROUTES}


def commands(group: Any = None, words: str = "postroad") -> set[str]:
    """All commands, as `postroad dead list`."""
    group = group or app.whole()
    inner = getattr(group, "commands", None)
    if inner is None:
        return {words}
    return {found for name, each in inner.items() for found in commands(each, f"{words} {name}")}


def breaches(text: str, there_routes: set[str], there_commands: set[str]) -> list[str]:
    """What the table lacks, or has too much."""
    table = rows(text)
    named_routes = {row["http"].strip("`") for row in table} - {"–"}
    named_commands = {row["command"].strip("`") for row in table} - {"–"}
    found = [f"no such route: {each}" for each in named_routes - there_routes]
    found += [f"no such command: {each}" for each in named_commands - there_commands]
    found += [f"not in the table: {each}" for each in there_routes - named_routes]
    found += [f"not in the table: {each}" for each in there_commands - named_commands]
    found += [
        f"reached from one side only: {row['what']}"
        for row in table
        if "–" in (row["http"], row["command"]) and row["last"].startswith("`")
    ]
    return sorted(found)


def test_every_capability_has_its_route_and_its_command() -> None:
    assert breaches(PAGE.read_text(), routes(), commands()) == []


def test_the_python_of_each_capability_is_there(tmp_path: Path) -> None:
    road = Postroad(f"sqlite:///{tmp_path}/road.db")
    for row in rows(PAGE.read_text()):
        for name in re.findall(r"`road\.([\w.]+)`", row["last"]):
            thing: object = road
            for part in name.split("."):
                thing = getattr(thing, part)
            assert callable(thing), name


def test_a_gap_in_the_table_is_named() -> None:
    text = PAGE.read_text()
    without = "\n".join(line for line in text.splitlines() if "/v1/lanes:pause" not in line)
    assert breaches(without, routes(), commands()) == ["not in the table: POST /v1/lanes:pause"]
    gone = breaches(text, routes() - {"GET /v1/dead"}, commands() - {"postroad dead list"})
    assert gone == ["no such command: postroad dead list", "no such route: GET /v1/dead"]
    half = text.replace("`postroad levels`", "–")
    assert "reached from one side only: See the retry levels" in breaches(
        half, routes(), commands()
    )
