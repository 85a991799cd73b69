"""The public face as a sorted list of lines: Python names, HTTP with the fields of its schemas, commands with
their exit codes, metrics, settings, tables.

scripts/keep_release.py writes it to docs/public/VERSION.txt, once for each release; a test fails when a line
of the last one is gone. docs/stability.md says what may change, and when.
"""

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "public"
TABLES = ("arrival", "event_arrival")
"""What `send_in` and `publish_in` write in a transaction of the caller's own, on PostgreSQL."""


def public_face() -> list[str]:
    """Every line, sorted."""
    found = {*_python(), *_http(), *_schemas(), *_commands(), *_exit_codes(), *_json_of_commands()}
    return sorted(found.union(_metrics(), _settings(), _tables()))


def baseline() -> list[str]:
    """The list of the last release; before the first one, what that is going to promise."""
    version = max(FOLDER.glob("*.txt"), key=lambda file: [*map(int, file.stem.split("."))])
    return version.read_text().splitlines()


def gone(before: Iterable[str], now: Iterable[str]) -> list[str]:
    """What was public, and is not any more."""
    return sorted(set(before) - set(now))


def _python() -> Iterator[str]:
    import postroad
    from postroad import errors, sync, testing
    from postroad.app import Postroad
    from postroad.verbs.grouping import VerbGroup

    for module in (postroad, sync, testing):
        yield from (f"python {module.__name__}.{name}" for name in module.__all__)
    for name, each in inspect.getmembers(errors, inspect.isclass):
        if issubclass(each, Exception):
            yield f"python postroad.errors.{name}"
    groups = {n: each.kind for n, each in vars(Postroad).items() if isinstance(each, VerbGroup)}
    yield from _verbs("postroad.Postroad", Postroad)
    for name, kind in groups.items():
        yield from _verbs(f"postroad.Postroad.{name}", kind)


def _verbs(where: str, face: type) -> Iterator[str]:
    """Every verb, and every parameter of it by name."""
    for name, verb in inspect.getmembers(face, inspect.isfunction):
        if name.startswith("_"):
            continue
        yield f"python {where}.{name}"
        for each in inspect.signature(verb, eval_str=True).parameters.values():
            if each.name != "self":
                yield from (f"python {where}.{name} {word}" for word in _words(each))


def _words(parameter: inspect.Parameter) -> Iterable[str]:
    """A parameter's name; of `**options` those that are meant."""
    options = get_args(parameter.annotation)
    if parameter.kind is parameter.VAR_KEYWORD and options:
        return [*options[0].__annotations__]
    return [parameter.name]


def _http() -> Iterator[str]:
    from postroad import errors
    from postroad.api.app import ROUTES
    from postroad.model.problem import kind

    for route in ROUTES:
        yield f"http {route.method} {route.path}"
    for _, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, errors.PostroadError):
            yield f"http problem {kind(error)}"


def _schemas() -> Iterator[str]:
    """What a request may ask, which schema a route answers with, and the fields of each."""
    from postroad.api.app import ROUTES
    from postroad.api.openapi import document

    told: Any = document(ROUTES)
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            where = f"http {method.upper()} {path}"
            asked = (each for each in operation.get("parameters", ()) if each["in"] == "query")
            yield from (f"{where} ?{each['name']}" for each in asked)
            for status, answer in operation["responses"].items():
                if status.startswith("2"):
                    names = re.findall(r"#/components/schemas/(\w+)", json.dumps(answer))
                    yield from (f"{where} {status} {name}" for name in names)
    for name, schema in told["components"]["schemas"].items():
        yield from (f"http field {name}.{field}" for field in schema.get("properties", ()))


def _exit_codes() -> Iterator[str]:
    """What a command ends with, by error."""
    from postroad import errors
    from postroad.api.problems import status_of
    from postroad.cli.client import exit_code

    for name, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, errors.PostroadError):
            yield f"command exit {exit_code(status_of(error))} {name}"


def _json_of_commands() -> Iterator[str]:
    """Fields of what commands print that no route answers with. The others print its answer."""
    from msgspec import Struct
    from msgspec.structs import fields

    from postroad.cli.receiver import ReceivedRequest
    from postroad.model import restoring
    from postroad.stores.sqlite.backup import Backup

    restored = (restoring.RestoredReport, restoring.RestoredTotals, restoring.RestoredQueue)
    printed: dict[str, tuple[type[Struct], ...]] = {
        "listen": (ReceivedRequest,),
        "store backup": (Backup,),
        "store restored": restored,
    }
    for command, kinds in printed.items():
        for kind in kinds:
            where = f"command postroad {command} --json {kind.__name__}"
            yield from (f"{where}.{field.name}" for field in fields(kind))


def _commands(command: Any = None, words: str = "postroad") -> Iterator[str]:
    from postroad.cli.root import app

    command = command or app.whole()
    inner = getattr(command, "commands", None)
    if inner is not None:
        for name, each in inner.items():
            yield from _commands(each, f"{words} {name}")
        return
    yield f"command {words}"
    for each in command.params:
        shown = (
            [*each.opts, *each.secondary_opts]
            if each.opts[0].startswith("-")
            else [each.name.upper()]
        )
        yield from (f"command {words} {option}" for option in shown)


def _metrics() -> Iterator[str]:
    from postroad.observe.names import METRICS

    for each in METRICS:
        yield f"metric {each.name}"
        yield from (f"metric {each.name} {label}" for label in each.labels)


def _settings() -> Iterator[str]:
    from msgspec import Struct
    from msgspec.structs import fields

    from postroad.config import Settings

    def of(kind: type[Struct], before: str) -> Iterator[str]:
        for each in fields(kind):
            yield f"setting {before}{each.name}"
            if isinstance(each.type, type) and issubclass(each.type, Struct):
                yield from of(each.type, f"{before}{each.name}.")

    return of(Settings, "")


def _tables() -> Iterator[str]:
    from postroad.stores.postgres.migration import TABLES as SCRIPTS

    text = "\n".join(SCRIPTS.values())
    for table in TABLES:
        definition = re.search(rf"^create table {table} \((.*?)^\)", text, re.MULTILINE | re.DOTALL)
        if definition is None:
            raise LookupError(f"there is no table {table}")
        columns = re.findall(r"^  (\w+)  *\w", definition[1], re.MULTILINE)
        yield from (
            f"table {table}.{column}" for column in columns if column not in ("primary", "check")
        )
