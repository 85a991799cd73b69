"""Changes of many messages that people ask for: each runs on by itself, and shows how far it is."""

from collections import deque
from typing import Any, Final

from msgspec import Struct

from postroad.dashboard.asking import PageApi, ProblemAnswer
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock
from postroad.ports.log import Log

KEPT_MAX: Final = 50
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
    """Runs them, and remembers the last ones."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._tasks = Tasks(log)
        self._clock = clock
        self._jobs: deque[PageJob] = deque(maxlen=KEPT_MAX)

    def of(self, tenant: str) -> list[PageJob]:
        """Those of a tenant, the newest first."""
        return [job for job in self._jobs if job.tenant == tenant]

    def start(self, api: PageApi, job: PageJob, path: str, data: dict[str, Any]) -> None:
        """Start one: the API is asked for it, and tells the progress."""
        job.started_at_ms = self._clock.now_ms()
        self._jobs.appendleft(job)
        _ = self._tasks.start(self._run(api, job, path, data), "page job")  # it tells its end

    async def _run(self, api: PageApi, job: PageJob, path: str, data: dict[str, Any]) -> None:
        def hear(line: Any) -> None:
            said = line["said"] or {}
            job.count = next((said[name] for name in COUNTED if name in said), job.count)
            job.problem = (line.get("problem") or {}).get("detail", "")

        try:
            await api.follow(path, data, hear)
        except ProblemAnswer as error:
            job.problem = error.problem.detail
        job.done = True
