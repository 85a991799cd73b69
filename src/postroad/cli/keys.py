"""`postroad keys`: keys for secrets at rest."""

from typing import Annotated

import typer

from postroad.cli.command import Invocation, command
from postroad.cli.printing import as_json, err, out
from postroad.model.errors import BadInput
from postroad.ports.entropy import secret_bytes


def add(app: typer.Typer) -> None:
    """These commands."""
    group = typer.Typer(no_args_is_help=True, help="Keys for secrets at rest.")
    app.add_typer(group, name="keys", rich_help_panel="Look after it")
    command(group, "new")(new)
    command(group, "rotate")(rotate)


def new(
    call: Invocation,
    name: Annotated[str, typer.Argument(help="A name, told from those of other keys.")] = "k1",
) -> None:
    """Make a key. Put it first in POSTROAD_KEYS, or in the file that POSTROAD_KEYS_FILE names."""
    from postroad.model.keyring import new_key  # with the whole of cryptography

    if not name.isidentifier():
        raise BadInput(f"{name!r}: give a name of letters, digits and _")
    key = new_key(name, secret_bytes)
    if call.json:
        as_json({"key": key})
        return
    out().print(key, soft_wrap=True)
    err().print("shown this once: who has it can read the secrets that it seals")


def rotate(call: Invocation) -> None:
    """Seal all secrets with the first key. A server that owns the road reads its own keys again
    for that. Can be stopped and run again."""
    with call.connect() as road:
        said = road.ask("POST", "/v1/keys:rotate")
    if call.json:
        as_json(said)
    else:
        out().print(f"sealed with {said['key']}: {said['sealed']}")
