"""Changes of many messages that people ask for: each runs on by itself, and shows how far it is."""

import asyncio
from collections import OrderedDict, deque
from typing import Any, Final

from msgspec import Struct

from postroad.dashboard.asking import PageApi, ProblemAnswer
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock
from postroad.ports.log import Log

KEPT_MAX: Final = 20
TENANTS_MAX: Final = 1_000
"""How many jobs of a tenant are remembered, and of how many tenants: those that asked last."""
COUNTED: Final = ("count", "sent", "cancelled")


class PageJob(Struct):
    """One such change. `count` of about `total` are done; `problem` says why it ended early."""

    tenant: str
    title: str
    who: str
    total: int
    started_at_ms: int
    count: int = 0
    done: bool = False
    problem: str = ""

    @property
    def state(self) -> str:
        """In a word."""
        return "stopped" if self.problem else "done" if self.done else "under way"


class PageJobs:
    """Runs them, and remembers the last ones of each tenant: nobody's many jobs hide another's."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._tasks = Tasks(log)
        self._clock = clock
        self._jobs: OrderedDict[str, deque[PageJob]] = OrderedDict()

    def of(self, tenant: str) -> list[PageJob]:
        """Those of a tenant, the newest first."""
        return list(self._jobs.get(tenant, ()))

    async def start(self, api: PageApi, job: PageJob, path: str, data: dict[str, Any]) -> None:
        """Start one: the API is asked for it, and tells the progress. It is listed once the API has
        allowed it; ProblemAnswer if it does not."""
        job.started_at_ms = self._clock.now_ms()
        allowed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        _ = self._tasks.start(self._run(api, job, path, data, allowed), "page job")  # tells its end
        await allowed

    def _list(self, job: PageJob) -> None:
        own = self._jobs.pop(job.tenant, None) or deque(maxlen=KEPT_MAX)
        own.appendleft(job)
        self._jobs[job.tenant] = own
        while len(self._jobs) > TENANTS_MAX:
            self._jobs.popitem(last=False)

    async def _run(
        self,
        api: PageApi,
        job: PageJob,
        path: str,
        data: dict[str, Any],
        allowed: "asyncio.Future[None]",
    ) -> None:
        def begin() -> None:
            self._list(job)
            if not allowed.done():  # nobody waits any more if the browser is gone
                allowed.set_result(None)

        def hear(line: Any) -> None:
            said = line["said"] or {}
            job.count = next((said[name] for name in COUNTED if name in said), job.count)
            job.problem = (line.get("problem") or {}).get("detail", "")

        try:
            await api.follow(path, data, hear, begin)
        except ProblemAnswer as error:
            if not allowed.done():
                allowed.set_exception(error)
        finally:
            job.done = True
            if not allowed.done():
                allowed.set_exception(RuntimeError("the job ended before it began"))
