"""Jobs: wait for their ends, and read what they gave."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from postroad.model.durations import Duration
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import Forbidden, NotOnRabbitMQ, UnknownMessage
from postroad.model.facts import MessageFacts
from postroad.model.ids import to_number, to_text
from postroad.model.job_errors import JobFailed, NoResult, ResultTimeout
from postroad.model.job_output import OutputKind
from postroad.model.outcome import Kind
from postroad.model.states import State
from postroad.ports.job_outputs import JobOutputs
from postroad.ports.store import Store
from postroad.transports.job_progress import Progress
from postroad.transports.job_result import JobFailure
from postroad.verbs.bounding import bounded
from postroad.verbs.ending import until_ended, wait_s
from postroad.verbs.paging import check_page

LOOKED_AT: Final = 2_000
"""How many of a tenant's reports of progress are searched for running jobs: those of ended ones
stay a day."""
NOT_HERE: Final = (
    "results: a road on RabbitMQ keeps none. Have the handler store its result, or use a road on "
    "PostgreSQL or SQLite"
)


class JobEnd(Struct, frozen=True, omit_defaults=True):
    """Where a job is. `result` is what its handler returned, if it is `kept`; `reason` and `error`
    tell why it is dead."""

    id: str
    queue: str
    state: str
    kept: bool = False
    result: Any = None
    reason: str = ""
    error: str = ""
    progress: Progress | None = None
    """How far it said last that it had come, while that is kept: a day."""
    failures: tuple[JobFailure, ...] = ()
    """What its tries raised, as long as that is kept."""
    hidden: str = ""
    """Why the result, the failures and the note of the progress are left out."""

    @property
    def ended(self) -> bool:
        """Whether it is delivered, dead or cancelled."""
        return self.state in ENDS


class RunningJob(Struct, frozen=True):
    """A job that runs, and how far it has come."""

    id: str
    queue: str
    progress: Progress


ENDS: Final = frozenset((State.delivered, State.dead, State.cancelled))


@bounded
class JobVerbs:
    """Wait for jobs, and read what they gave. `sends` tells whether an engine of this process is
    trying a message now."""

    def __init__(self, store: Store, sends: Callable[[int], bool]) -> None:
        self._store = store
        self._sends = sends

    async def wait(
        self,
        id: str,  # noqa: A002 - the word that receipts use
        *,
        timeout: Duration | None = None,  # noqa: ASYNC109 - its end is an answer, not an error
        tenant: str = DEFAULT_TENANT,
    ) -> JobEnd:
        """Wait until a message has ended, at most so long, and tell where it is. Without a timeout
        it waits for as long as it takes."""
        number = to_number(id)
        until_s = self._store.clock.steady_s() + wait_s(timeout)
        look = partial(self._look, id, number, tenant)
        return await until_ended(self._store, number, until_s, look, lambda found: found.ended)

    async def result(
        self,
        id: str,  # noqa: A002
        *,
        timeout: Duration | None = None,  # noqa: ASYNC109
        tenant: str = DEFAULT_TENANT,
    ) -> Any:
        """Wait for a job, and return what its handler returned. Raises JobFailed with its error if
        it is dead or cancelled, ResultTimeout, or NoResult if nothing is kept."""
        return result_of(await self.wait(id, timeout=timeout, tenant=tenant))

    async def running(
        self, *, limit: int = 100, tenant: str = DEFAULT_TENANT
    ) -> tuple[RunningJob, ...]:
        """Jobs that run and have told how far they have come, those that told last first. Of the
        tenant's latest reports, 2,000 are looked at."""
        check_page(limit)
        store = self._store
        if not isinstance(store, JobOutputs):
            raise NotOnRabbitMQ(NOT_HERE)
        found: list[RunningJob] = []
        for one in await store.running_outputs(tenant, LOOKED_AT):
            come = msgspec.json.decode(one.body, type=Progress)
            if come.attempt > one.attempts:  # else the try that told so has ended
                found.append(RunningJob(to_text(one.id), one.queue, come))
        return tuple(found[:limit])

    async def _look(self, id: str, number: int, tenant: str) -> JobEnd:  # noqa: A002
        store = self._store
        if not isinstance(store, JobOutputs):
            raise NotOnRabbitMQ(NOT_HERE)
        facts = await store.message_facts(tenant, number)
        said = await store.output_of(tenant, number, OutputKind.progress)
        come = None if said is None else msgspec.json.decode(said, type=Progress)
        if facts is None:
            raise UnknownMessage(
                f"this road has no message {id} of tenant {tenant!r}: check the id and its "
                "tenant; it may have been deleted for its age"
            )
        failures = await _failures(store, tenant, facts)
        told, ended = partial(JobEnd, id, facts.queue.name, failures=failures), facts.ended
        if ended is None:
            return told(self._on_its_way(facts, come), progress=come)
        if ended.state is State.delivered:
            body = await store.output_of(tenant, number, OutputKind.result)
            given = None if body is None else msgspec.json.decode(body)
            return told(State.delivered, body is not None, given, progress=come)
        return told(ended.state, reason=ended.reason or "", error=_last_error(facts))

    def _on_its_way(self, facts: MessageFacts, come: Progress | None) -> State:
        """A try of another process is known by what it told."""
        live = facts.live
        if live is not None and live.uncertain:
            return State.uncertain
        told = come is not None and live is not None and come.attempt > live.attempts
        return State.sending if told or self._sends(facts.id) else State.waiting


def result_of(end: JobEnd) -> Any:
    """What a job that has ended returned, or the error that says why there is nothing."""
    if not end.ended:
        raise ResultTimeout(f"{end.id} has not ended yet: it goes on; ask again, or wait longer")
    if end.state != State.delivered:
        why = f" ({end.reason})" if end.reason else ""
        said = f": {end.error}" if end.error else ""
        failed = JobFailed(f"{end.id} of {end.queue!r} is {end.state}{why}{said}")
        failed.state, failed.reason, failed.error = end.state, end.reason, end.error
        failed.traceback = end.failures[-1].traceback if end.failures else ""
        raise failed
    if end.hidden:
        raise Forbidden(end.hidden)
    if not end.kept:
        raise NoResult(
            f"{end.id} is delivered, and no result is kept: register {end.queue!r} with result_ttl="
            ", and ask within that time"
        )
    return end.result


async def _failures(store: JobOutputs, tenant: str, facts: MessageFacts) -> tuple[JobFailure, ...]:
    if not any(each.outcome is Kind.failed for each in facts.tries):
        return ()
    kept = await store.failures_of(tenant, facts.id)
    return tuple(msgspec.json.decode(one, type=JobFailure) for one in kept)


def _last_error(facts: MessageFacts) -> str:
    return facts.tries[-1].error if facts.tries else ""
