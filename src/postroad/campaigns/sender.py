"""A sender works on one job: reads ahead, reserves slots, notes its intents, calls, records."""

from collections import deque
from typing import Final

from msgspec import Struct

from postroad.campaigns.holding import Hold
from postroad.campaigns.message import Letter, Writer
from postroad.campaigns.recording import Recorder
from postroad.model.campaign import Campaign, Job, Pulse, Result, RowState, Verb
from postroad.model.credential import Credential
from postroad.model.errors import BadInput, StoreError
from postroad.model.foreign import told
from postroad.model.outcome import Kind
from postroad.observe.tasks import Tasks
from postroad.ports.campaigns import CampaignStore
from postroad.ports.channel import Answer, Channel, Parcel
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.pace import Pace

SLICE: Final = 2_000
PAGE: Final = 1_000
WINDOW: Final = 512
"""Begun, and their results not written yet."""
BLOCK: Final = 128
"""Intents in one commit where nothing limits the rate."""
REPEATS: Final = 3
"""How often a recipient that can tell a repetition is called without an answer."""
RETRY_S: Final = 1.0


class Kit(Struct, frozen=True):
    """What all senders of a process share."""

    store: CampaignStore
    pace: Pace
    clock: Clock
    log: Log
    owner: int
    drain_s: float
    window: int = WINDOW


class Order(Struct, frozen=True):
    """What a job is about."""

    job: Job
    campaign: Campaign
    credential: Credential
    ledgers: tuple[int, ...]


class Sender:
    """Until the job is done, stopped or somebody else's."""

    def __init__(self, kit: Kit, order: Order, channel: Channel) -> None:
        self._kit = kit
        self._order = order
        self._channel = channel
        self._writer = Writer(order.campaign, order.credential)
        self._recorder = Recorder(kit.store, order.campaign, kit.clock, kit.log)
        self._hold = Hold(kit.store, order.credential, kit.clock)
        self._repeats = order.credential.kind == "webhook"
        self._ahead: deque[Letter] = deque()
        self._after = 0
        self._stopping = False
        self._tasks = Tasks(kit.log, self._recorder.fail)

    def stop(self) -> None:
        """Begin nothing more; what waits for its slot goes back."""
        self._stopping = True
        self._recorder.changed.set()

    def leave(self) -> None:
        """The process ends, whether the store is there or not."""
        self._recorder.leave(self._kit.clock.steady_s() + self._kit.drain_s)
        self.stop()

    def hear(self, pulse: Pulse | None) -> None:
        """How the job stands; None: it is not ours any more."""
        if pulse is None or pulse.campaign != "running":
            self.stop()
        elif pulse.blocked_until_ms > self._hold.until_ms:
            self._hold.until_ms = pulse.blocked_until_ms

    async def run(self) -> None:
        """Send all there is; then wait for what is in flight, and let go of the job."""
        try:
            while not self._stopping and await self._tried():
                pass
        finally:
            try:
                await self._drain()
            except BaseException:
                await self._tasks.close()  # their results would never be written
                raise
            await self._let_go()

    async def _tried(self) -> bool:
        try:
            return await self._turn()
        except StoreError as error:
            self._kit.log.warning("sender waits for the store", error=str(error))
            await self._kit.clock.sleep(RETRY_S)
            return True

    async def _turn(self) -> bool:
        """One block; False when nothing is left."""
        self._recorder.check()
        try:
            await self._channel.ready()
        except BadInput as error:
            self._hold.refused = told(error)
        if self._hold.refused:
            # False: somebody else moved it meanwhile.
            _ = await self._kit.store.move(self._order.campaign, Verb.halt, self._hold.refused)
            return False
        if self._hold.left_s:
            await self._wait(min(self._hold.left_s, RETRY_S))
            return True
        if not self._ahead:
            return await self._refill()
        room = self._kit.window - self._recorder.in_flight
        if room <= 0:
            await self._changed()
            return True
        return await self._begin(room)

    async def _refill(self) -> bool:
        """Read what is queued; then take another slice; then wait for what may come back."""
        store, order = self._kit.store, self._order
        rows = await store.queued(order.job, self._after, PAGE)
        if not rows and self._after:
            self._after = 0
            return True
        if not rows:
            if await store.enqueue(self._kit.owner, order.job, SLICE):
                return True
            if not self._recorder.busy:
                return False
            await self._changed()
            return True
        self._after = rows[-1].n
        self._ahead.extend(self._writer.checked(row) for row in rows)
        return True

    async def _begin(self, room: int) -> bool:
        """Slots, then intents, then the calls."""
        kit, order = self._kit, self._order
        cost = self._ahead[0].cost
        wanted = self._alike(cost, min(room, BLOCK))
        slots: tuple[float | None, ...] = (None,) * wanted
        if order.ledgers and cost <= order.credential.spec.segments_max:
            name = f"campaign {order.campaign.id}"
            block = await kit.pace.block(order.ledgers, name, wanted, cost)
            slots = block.slots_s
            if not slots:
                await self._wait(min(max(block.again_s - kit.clock.steady_s(), 0.002), RETRY_S))
                return True
        letters = [self._ahead.popleft() for _ in slots]
        tries = await kit.store.intend(kit.owner, order.job, [one.row.n for one in letters])
        for letter, slot in zip(letters, slots, strict=True):
            if letter.row.n in tries:
                self._start(letter, tries[letter.row.n], slot)
        if not tries:  # stopped, or somebody else's: what waits for its slot goes back
            self.stop()
        return True

    def _alike(self, cost: int, most: int) -> int:
        """How many of the next ones cost the same."""
        count = 0
        for letter in self._ahead:
            if letter.cost != cost or count == most:
                break
            count += 1
        return count

    def _start(self, letter: Letter, tries: int, slot_s: float | None) -> None:
        self._recorder.in_flight += 1
        # Kept there; one that breaks ends its job, and the process.
        _ = self._tasks.start(self._call(letter, tries, slot_s), "campaign call")

    async def _call(self, letter: Letter, tries: int, slot_s: float | None) -> None:
        n, clock = letter.row.n, self._kit.clock
        if slot_s is not None and not await self._kit.pace.on_time(slot_s):
            self._recorder.add(Result(n, tries, RowState.unsent))
            return
        if self._stopping or self._hold.left_s or self._hold.refused:
            self._recorder.add(Result(n, tries, RowState.unsent))
            return
        started_ms = clock.now_ms()
        if letter.problem:
            answer = Answer(RowState.failed, Kind.failed, sub_type="bad_text", error=letter.problem)
        elif letter.cost > self._order.credential.spec.segments_max:
            answer = Answer(RowState.failed, Kind.failed, sub_type="too_many_segments")
        else:
            answer = await self._sent(letter.parcel)
        state = self._state(answer, tries)
        self._recorder.add(
            Result(
                n,
                tries,
                state,
                answer.provider_id,
                answer.code,
                answer.sub_type,
                started_ms,
                clock.now_ms(),
            )
        )
        try:
            await self._hold.heed(answer)
        except StoreError as error:
            self._kit.log.warning("others do not know of a block", error=str(error))

    async def _sent(self, parcel: Parcel) -> Answer:
        try:
            return await self._channel.send(parcel)
        except Exception as error:  # whatever it is, the job ends, and nobody is sent to twice
            self._kit.log.exception("a call broke", key=parcel.key)
            why = f"{type(error).__name__}: {told(error)}"
            return Answer(RowState.uncertain, Kind.unknown, sub_type="broke", error=why)

    def _state(self, answer: Answer, tries: int) -> RowState:
        again = self._repeats and answer.state == RowState.uncertain and tries < REPEATS
        return RowState.unsent if again else answer.state

    async def _wait(self, seconds: float) -> None:
        """So long, or until something changes."""
        self._recorder.changed.clear()
        if self._stopping:
            return
        timer = self._kit.clock.later(max(1, round(seconds * 1000)), self._recorder.changed.set)
        await self._recorder.changed.wait()
        timer.cancel()

    async def _changed(self) -> None:
        await self._wait(RETRY_S)

    async def _drain(self) -> None:
        while self._recorder.busy:
            self._recorder.changed.clear()
            await self._recorder.changed.wait()
        self._recorder.check()

    async def _let_go(self) -> None:
        try:
            await self._kit.store.release(self._kit.owner, self._order.job)
        except StoreError as error:  # its lease runs out, and nothing of it is in flight
            self._kit.log.warning("a job is left to its lease", error=str(error))
