"""The options that commands share. An invocation's class names those that it uses."""

from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, Final

from postroad.cli.options import Option
from postroad.config import FILE

PANEL: Final = "Which road, and how"
Names = tuple[str, ...]
OUTPUT: Final = ("json",)
ROWS: Final = ("plain",)
SETTING: Final = ("dsn", "config", "set")
REQUEST: Final = ("server", "token_file", "ca_file", "tenant")
SHARED: Final = (*OUTPUT, *ROWS, *SETTING, *REQUEST)


def _option(flag: str, text: str, metavar: str = "") -> Option:
    return Option(flag, help=text, panel=PANEL, metavar=metavar)


KINDS: Final[dict[str, Any]] = {
    "json": Annotated[bool, _option("--json", "Print JSON, for programs.")],
    "plain": Annotated[
        bool, _option("--plain", "Print rows alone, with tabs between cells and nothing cut.")
    ],
    "dsn": Annotated[
        str, _option("--dsn", "The store: sqlite:///road/road.db, postgresql://… or amqp://…")
    ],
    "config": Annotated[
        Path | None, _option("--config", f"The settings file; ./{FILE} unless given.")
    ],
    "set": Annotated[
        list[str] | None,
        _option("--set", "Change a setting, as NAME=VALUE; may be repeated.", "NAME=VALUE"),
    ],
    "server": Annotated[
        str,
        _option(
            "--server",
            "The address of a Postroad server to ask; its token is in POSTROAD_TOKEN.",
            "URL",
        ),
    ],
    "token_file": Annotated[
        Path | None, _option("--token-file", "A file that holds the server's token.")
    ],
    "ca_file": Annotated[
        Path | None, _option("--ca-file", "Certificates to trust for an https server.")
    ],
    "tenant": Annotated[str, _option("--tenant", "The tenant; `default` unless given.")],
}


def shared_parameters(names: Names) -> list[Parameter]:
    """Some of them as parameters of a function."""
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=KINDS[name], default=_default(name))
        for name in SHARED
        if name in names
    ]


def _default(name: str) -> object:
    kind = str(KINDS[name])
    return None if "None" in kind else False if "bool" in kind else ""
