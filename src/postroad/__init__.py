"""Postroad: hand it a message for somebody else's server, and it gets there."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from postroad.app import Postroad
    from postroad.engine.drafting import Send
    from postroad.model.errors import PostroadError, Reject, RetryLater
    from postroad.transports.job import Message
    from postroad.verbs.sending import Receipt

__all__ = ["Message", "Postroad", "PostroadError", "Receipt", "Reject", "RetryLater", "Send"]

HOMES: Final = {
    "Message": "postroad.transports.job",
    "Postroad": "postroad.app",
    "PostroadError": "postroad.model.errors",
    "Receipt": "postroad.verbs.sending",
    "Reject": "postroad.model.errors",
    "RetryLater": "postroad.model.errors",
    "Send": "postroad.engine.drafting",
}


def __getattr__(name: str) -> object:
    """Found when it is asked for: a command that only asks a server need not load an engine."""
    if name not in HOMES:
        raise AttributeError(f"module 'postroad' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return __all__
