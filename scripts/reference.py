"""Writes the pages of docs/reference/ that come from the code: `python scripts/reference.py`.

Tests compare them with what is written; adding a command, a route, a verb, an error or a metric means running this.
"""

import inspect
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from postroad import errors  # noqa: E402
from postroad.api.listening import REFUSALS  # noqa: E402
from postroad.api.problems import (  # noqa: E402
    BadRequest,
    MethodNotAllowed,
    NotFound,
    UnsupportedMediaType,
    status_of,
)
from postroad.cli.client import exit_code  # noqa: E402
from postroad.cli.options import made  # noqa: E402
from postroad.cli.root import app  # noqa: E402
from postroad.cli.shared_options import PANEL, SHARED, shared_parameters  # noqa: E402
from postroad.model.problem import kind  # noqa: E402
from postroad.observe.names import METRICS  # noqa: E402
from scripts import reference_api  # noqa: E402

FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- Written by scripts/reference.py from the code. -->"


def pages() -> dict[str, str]:
    """Every page by its file's name."""
    return {
        "commands.md": commands(),
        "errors.md": problems(),
        "http.md": reference_api.http(NOTE),
        "metrics.md": metrics(),
        "python.md": reference_api.python(NOTE),
    }


def commands() -> str:
    found = list(_commands(app.whole(), "postroad"))
    lines = [
        "# Commands",
        NOTE,
        "",
        "Data goes to standard output, everything else to standard error. Exit codes: 0 ok, 1 failed,",
        "2 bad input, 3 unavailable. For completion in your shell:",
        '`eval "$(_POSTROAD_COMPLETE=bash_source postroad)"`; `zsh_source` and `fish_source` are alike.',
        "",
        "`python -m postroad` is the same program. Commands share these options:",
        "",
        *_table(map(made, shared_parameters(SHARED))),
    ]
    for name, command in found:
        text = " ".join(inspect.cleandoc(command.help or "").split())
        own = [each for each in command.params if getattr(each, "panel", "") != PANEL]
        shared = [each.opts[0] for each in command.params if each not in own]
        lines += ["", f"## {name}", "", text]
        if own:
            lines += ["", *_table(own)]
        if shared:
            lines += ["", f"Also: {', '.join(f'`{name}`' for name in shared)}."]
    return "\n".join(lines) + "\n"


def _commands(command: Any, words: str) -> Any:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
        return
    for name, each in inner.items():
        yield from _commands(each, f"{words} {name}")


def _table(parameters: Any) -> list[str]:
    rows = ["| | |", "| --- | --- |"]
    for each in parameters:
        names = each.opts if each.opts[0].startswith("-") else [each.name.upper()]
        help_text = " ".join((getattr(each, "help", "") or "").split()).replace("|", "\\|")
        rows.append(f"| `{', '.join(names)}` | {help_text} |")
    return rows


def problems() -> str:
    lines = [
        "# Errors",
        NOTE,
        "",
        "In Python an error is a class of `postroad.errors`. Over HTTP it is a problem answer",
        "(RFC 9457, `application/problem+json`) with a stable `type`; on the command line its words are",
        "on standard error, with an exit code.",
        "",
        "| error | HTTP | type | exit code | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, errors.PostroadError) and error is not errors.PostroadError:
            text = " ".join(inspect.cleandoc(error.__doc__ or "").split())
            status = status_of(error)
            code = exit_code(status)
            lines.append(f"| `{name}` | {status} | `{kind(error)}` | {code} | {text} |")
    lines += [
        "",
        "Besides these, from the web server itself:",
        "",
        "| HTTP | type | meaning |",
        "| --- | --- | --- |",
        *_own(),
    ]
    return "\n".join(lines) + "\n"


def _own() -> list[str]:
    """The problems that have no error in Python."""
    kinds = (BadRequest, NotFound, MethodNotAllowed, UnsupportedMediaType)
    rows = [(status_of(each), kind(each), each.__doc__ or "") for each in kinds]
    urn = "urn:postroad:problem:"
    rows += [(status, urn + word, text) for status, (word, text) in REFUSALS.items()]
    rows.append((500, f"{urn}internal", "A fault of ours. The server's log has it."))
    return [f"| {status} | `{name}` | {text} |" for status, name, text in rows]


def metrics() -> str:
    lines = [
        "# Metrics",
        NOTE,
        "",
        "`GET /metrics`, for Prometheus. Names and labels are stable. No queue, tenant, address or message",
        "is ever a label. Those of the *fleet* come from the store and are the same from every process: scrape one,",
        "or take the maximum. They are at most five seconds old; rates and lateness lag by up to twelve seconds,",
        "since each process adds its figures every ten. Those of a *process* are summed up by Prometheus.",
        "Beside each counter and histogram stands `NAME_created`: when its process began to count.",
        "",
        "| name | of | kind | labels | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for each in METRICS:
        labels = ", ".join(f"`{label}`" for label in each.labels) or "–"
        whose = "fleet" if each.fleet else "process"
        lines.append(f"| `{each.name}` | {whose} | {each.kind} | {labels} | {each.text} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for file, content in pages().items():
        (FOLDER / file).write_text(content)
