"""Postroad: hand it a message for somebody else's server, and it gets there."""

from postroad.app import Postroad
from postroad.engine.drafting import Send
from postroad.model.errors import PostroadError, Reject, RetryLater
from postroad.transports.job import Message
from postroad.verbs.sending import Receipt

__all__ = ["Message", "Postroad", "PostroadError", "Receipt", "Reject", "RetryLater", "Send"]
