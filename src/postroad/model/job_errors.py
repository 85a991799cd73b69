"""Errors of those who wait for jobs."""

from postroad.model.errors import BadInput, PostroadError


class NoResult(BadInput):
    """The message has ended and nothing of it is kept: its handler has no `result_ttl`, or its time
    is over. Register the handler with `result_ttl`, or ask sooner."""


class ResultTimeout(PostroadError, TimeoutError):
    """The job has not ended in the time that was waited for it. It goes on; ask again."""


class JobFailed(PostroadError):
    """The job ended without a result: it is dead, or was cancelled. The text has its state, the
    reason and its last error; `postroad message explain` tells more."""

    state: str = ""
    reason: str = ""
    error: str = ""
    traceback: str = ""
    """That of the last try that raised, where its handler has a `result_ttl`."""
