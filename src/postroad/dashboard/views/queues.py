"""Queues: what waits in each, what holds it, pause, resume and unblock."""

from typing import Any, Final

from postroad.dashboard.paging import Done, Form, Page, Region, View


async def _table(view: View) -> dict[str, Any]:
    shown: dict[str, Any] = await view.api.get(
        "/v1/queues", limit=50, after=view.query.get("after")
    )
    return shown


async def _pause(view: View, form: Form) -> Done:
    queue = form.need("queue")
    await view.api.do("/v1/queues:pause", {"queue": queue})
    return Done(f"{queue} is paused: messages are accepted, and no try starts.")


async def _resume(view: View, form: Form) -> Done:
    queue = form.need("queue")
    await view.api.do("/v1/queues:resume", {"queue": queue})
    return Done(f"{queue} goes on.")


async def _unblock(view: View, form: Form) -> Done:
    queue = form.need("queue")
    await view.api.do("/v1/queues:unblock", {"queue": queue})
    return Done(f"The block of {queue} is lifted: its next message is tried now.")


PAGE: Final = Page(
    "queues",
    "/queues",
    "Queues",
    regions=(Region("table", _table),),
    actions={
        "/queues/pause": _pause,
        "/queues/resume": _resume,
        "/queues/unblock": _unblock,
    },
    group="Deliver",
)
