"""A parameter has one name in HTTP and on the command line."""

import pytest
from msgspec import structs

from postroad.api.app import ROUTES
from postroad.api.routing import Route
from postroad.cli.shared_options import PANEL
from tests.cli.test_options import commands
from tests.reference.test_capabilities import PAGE, rows

HERE = {"yes", "watch", "once", "every", "last", "text", "bytes", "sign", "file", "with"}
HERE |= {"certificate", "certificate_key", "ca", "operator", "ack"}
"""Options about the command itself: what it reads, asks and prints (`plot --last week`). --with NAME=VALUE
names a field itself, and `sign` reads the keys from the environment; the parts of `tls` are files of their own, and `--operator` is
`by=operator`; `--ack` makes a second request."""
UNITS = ("_s", "_ms")
"""In HTTP a number has its unit in its name; on the command line the unit is in the value: 30d."""


def names_of(route: Route) -> set[str]:
    """The names of a route's parameters and of the fields of its body."""
    found = {each.name.lower() for each in route.parameters.values()}
    if route.takes is not None:
        found |= {each.encode_name for each in structs.fields(route.takes)}
    return found


def is_named(option: str, names: set[str]) -> bool:
    """Whether a route knows it; what may be repeated is one of a list of that name."""
    there = {name.removesuffix(unit) for name in names for unit in ("", *UNITS)}
    return option in there or f"{option}s" in there


def pairs() -> dict[str, set[str]]:
    """Each command with its routes."""
    found: dict[str, set[str]] = {}
    for row in rows(PAGE.read_text()):
        command, path = row["command"].strip("`"), row["http"].strip("`")
        if "–" not in (command, path):
            found.setdefault(command, set()).add(path)
    return found


def odd(command: str, paths: set[str]) -> list[str]:
    """The options of a command that its routes know by another name."""
    routes = [each for each in ROUTES if f"{each.method} {each.path}" in paths]
    assert len(routes) == len(paths)
    names = set().union(*map(names_of, routes))
    (parameters,) = [each.params for words, each in commands() if f"postroad {words}" == command]
    own = [each for each in parameters if getattr(each, "panel", "") != PANEL]
    given = [each.opts[0].removeprefix("--").replace("-", "_") for each in own]
    return [name for name in given if name not in HERE and not is_named(name, names)]


@pytest.mark.parametrize("command", pairs())
def test_an_option_is_named_as_its_parameter(command: str) -> None:
    assert odd(command, pairs()[command]) == []


def test_another_name_would_be_found() -> None:
    export = pairs()["postroad campaign export"]
    assert odd("postroad campaign export", export) == []
    assert odd("postroad campaign settle", export) == ["row"]
    assert is_named("lasts", {"lasts_s"})
    assert not is_named("form", {"format"})
