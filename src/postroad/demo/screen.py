"""What the demo shows on a terminal: a live picture."""

from collections import deque
from typing import Final, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from postroad.demo.lines import heading_line
from postroad.demo.recipients import LADDER
from postroad.demo.watch import LaneSnapshot, RoadSnapshot, news, short, spell

NEWS_LINES: Final = LADDER.retries + 1
OUTCOMES: Final = (
    ("delivered", "green"),
    ("failed", "yellow"),
    ("later", "cyan"),
    ("quota", "magenta"),
    ("unreachable", "red"),
    ("unknown", "red"),
    ("rejected", "red"),
)


class LiveScreen:
    """Shows snapshots of the road as they come."""

    def __init__(self, speed: float, console: Console | None = None) -> None:
        self._speed = speed
        console = console or Console(highlight=False)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._news: deque[Text] = deque(maxlen=NEWS_LINES)
        self._last: RoadSnapshot | None = None

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, snapshot: RoadSnapshot) -> None:
        """Show one snapshot."""
        for line in news(self._last, snapshot) if self._last else ():
            self._news.append(_clocked(snapshot, line))
        self._last = snapshot
        self._live.update(self.picture(snapshot), refresh=True)

    def picture(self, snapshot: RoadSnapshot) -> RenderableType:
        """The whole live view."""
        below = Table.grid(padding=(0, 3), expand=True)
        below.add_column(width=25)
        below.add_column(ratio=1)
        below.add_row(levels(snapshot), self._news_table())
        return Group(
            heading(self._speed), Text(), progress(snapshot), Text(), lanes(snapshot), Text(), below
        )

    def _news_table(self) -> Table:
        table = _table("News")
        for line in self._news:
            table.add_row(line)
        return table


def heading(speed: float) -> Text:
    """What is going on here, and what is not as in life."""
    text = Text(heading_line(speed), no_wrap=True, overflow="ellipsis")
    text.stylize("bold", 0, len("Postroad"))
    return text


def progress(snapshot: RoadSnapshot) -> Group:
    """How far sender and road are, and what tries came to."""
    bar = Table.grid(padding=(0, 1), expand=True)
    bar.add_column()
    bar.add_column(ratio=1)
    bar.add_column(justify="right")
    finished = snapshot.delivered + snapshot.dead
    for name, done, style in (
        ("accepted", snapshot.accepted, "blue"),
        ("finished", finished, "green"),
    ):
        fill = ProgressBar(
            snapshot.to_send, done, complete_style=style, finished_style=style, style="grey30"
        )
        bar.add_row(name, fill, f"{done:>4} of {snapshot.to_send}")
    counts = [(snapshot.outcomes.get(kind, 0), kind, style) for kind, style in OUTCOMES]
    tries = Text(", ").join(Text(f"{n} {kind}", style) for n, kind, style in counts if n)
    tries.no_wrap, tries.overflow = True, "ellipsis"
    time = spell(snapshot.since_start_s)
    time += f" on the road, {snapshot.rate:.0f} deliveries a second; tries:"
    return Group(bar, Text(time), tries)


def lanes(snapshot: RoadSnapshot) -> Table:
    """A row for each server: its lane, and what holds it up."""
    table = _table("Lane", expand=True)
    for name in ("sending", "waiting", "done", "dead"):
        table.add_column(name, justify="right")
    table.add_column("", ratio=1, no_wrap=True, overflow="ellipsis")
    for lane in snapshot.lanes:
        numbers = (lane.in_flight, lane.waiting, lane.delivered, lane.dead)
        state = lane_state(lane, snapshot.now_ms)
        table.add_row(lane.server, *(Text(str(n), "" if n else "dim") for n in numbers), state)
    return table


def lane_state(lane: LaneSnapshot, now_ms: int) -> Text:
    """Why a lane's messages wait, if they do, and until when."""
    if lane.opened:
        wait = spell((lane.until_ms - now_ms) / 1000)
        return Text(f"circuit open, probe in {wait}: {lane.reason}", "red")
    if lane.holds:
        held = ", ".join(
            f"{short(hold.queue).rpartition('/')[2]} {spell((hold.until_ms - now_ms) / 1000)}"
            for hold in lane.holds
        )
        return Text(f"held {held}: {lane.holds[0].reason}", "magenta")
    if lane.in_flight:
        return Text("sending", "green")
    return Text("retries wait for their time", "yellow") if lane.waiting else Text("–", "dim")


def levels(snapshot: RoadSnapshot) -> Table:
    """How many messages wait after so many failures, each for its next try."""
    table = _table("Fails")
    table.add_column("waiting", justify="right")
    table.add_column("")
    most = max(16, *snapshot.levels.values(), 0)
    for level in range(LADDER.retries + 1):
        count = snapshot.levels.get(level, 0)
        bar = "▇" * -(-count * 8 // most)
        table.add_row(str(level), Text(str(count), "" if count else "dim"), Text(bar, "yellow"))
    return table


def _table(first: str, *, expand: bool = False) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim", expand=expand)
    table.add_column(first, no_wrap=True, overflow="ellipsis")
    return table


def _clocked(snapshot: RoadSnapshot, line: str) -> Text:
    return Text.assemble((f"{spell(snapshot.since_start_s):>5}  ", "dim"), line)
