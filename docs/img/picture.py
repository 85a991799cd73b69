"""Makes demo.svg, the demo's live view in mid-run: `python docs/img/picture.py`."""

import asyncio
import io
import re
import tempfile
from pathlib import Path

from rich.console import Console, RenderableType
from rich.terminal_theme import SVG_EXPORT_THEME

from postroad.demo.journey import DemoRun, run
from postroad.demo.screen import LiveScreen
from postroad.demo.watch import RoadSnapshot

WIDTH = 104
MOMENT_S = 215.0
"""All queues of the limited server are held, the away server is away, and level 3 fills."""


def take() -> RenderableType:
    """Runs the demo unseen and answers what it showed at the moment."""
    pictures: list[RenderableType] = []
    unseen = Console(file=io.StringIO(), width=WIDTH, height=40, force_terminal=True)
    screen = LiveScreen(60, unseen)

    def show(snapshot: RoadSnapshot) -> None:
        screen.show(snapshot)
        if snapshot.since_start_s >= MOMENT_S and not pictures:
            pictures.append(screen.picture(snapshot))

    with tempfile.TemporaryDirectory() as folder, screen:
        asyncio.run(run(DemoRun(600, Path(folder) / "road.db", 60), show))
    return pictures[0]


def main() -> None:
    """Writes the picture beside this file."""
    recorder = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    recorder.print(take())
    svg = recorder.export_svg(title="make demo", theme=SVG_EXPORT_THEME, unique_id="demo")
    # Fonts from other people's hosts: a picture in a README must not call home.
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = svg.replace("font-family: Fira Code,", "font-family: Fira Code, Menlo, Consolas,")
    Path(__file__).with_name("demo.svg").write_text(svg)


if __name__ == "__main__":
    main()
