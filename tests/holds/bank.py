"""A handler that child processes call: its account is closed."""

from pathlib import Path

from postroad import HoldKey, HoldQueue, Message


def pay(message: Message[dict[str, str]]) -> None:
    """Note the call, and hold what the message says."""
    with Path(message.body["file"]).open("a") as file:
        file.write("called\n")
    if Path(message.body["file"]).with_name("open").exists():
        return
    raise (HoldKey if message.body["hold"] == "key" else HoldQueue)(3600, "the account is closed")
