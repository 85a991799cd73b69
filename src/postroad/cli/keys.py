"""`postroad keys`: keys that encrypt stored secrets."""

from typing import Annotated

from postroad.cli.command import Invocation, LocalInvocation, add_group
from postroad.cli.options import Argument, Group
from postroad.cli.printing import err
from postroad.model.errors import BadInput
from postroad.ports.entropy import secret_bytes


def add(app: Group) -> None:
    """Add the commands for keys."""
    text = "Keys that encrypt stored secrets."
    add_group(app, "keys", "Look after it", text, {"new": new, "rotate": rotate})


def new(
    call: LocalInvocation,
    name: Annotated[str, Argument(help="A name that no other key has; else a random one.")] = "",
) -> None:
    """Make a key. Put it first in POSTROAD_KEYS, or in the file that POSTROAD_KEYS_FILE names."""
    from postroad.model.keyring import new_key  # with the whole of cryptography

    name = name or f"k_{secret_bytes(4).hex()}"
    if not name.isidentifier():
        raise BadInput(f"{name!r}: give a name of letters, digits and _")
    key = new_key(name, secret_bytes)
    call.reply({"key": key}, key)
    if not call.json:
        err().print("keep it secret: with it one can read what it encrypts")


def rotate(call: Invocation) -> None:
    """Encrypt all secrets again with the first key. A running server reads its keys again first.
    This can be stopped and run again."""
    said = call.ask("POST", "/v1/keys:rotate")
    call.reply(said, f"encrypted with {said['key']}: {said['sealed']}")
