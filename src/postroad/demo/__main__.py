"""`python -m postroad.demo`: several hundred messages to good, slow, flaky, limited and dead
recipients on one SQLite road, in compressed time. Ends by itself; the last line is the count."""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from postroad.demo.journey import DemoRun, Show, run
from postroad.demo.lines import PlainScreen, say, summary
from postroad.demo.tally import tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; 0 when nothing was lost, 1 when something was."""
    asked = parse(arguments)
    if asked.file is not None:
        return travel(asked, asked.file)
    with tempfile.TemporaryDirectory(prefix="postroad-demo-") as folder:
        return travel(asked, Path(folder) / "road.db")


def travel(asked: argparse.Namespace, path: Path) -> int:
    """Run, then count."""
    demo = DemoRun(asked.messages, path, asked.speed)
    with screen_of(asked) as show:
        accepted = asyncio.run(run(demo, show))
    count = tally(path, accepted)
    say(summary(count))
    say(count.line())
    return 1 if count.lost else 0


@contextmanager
def screen_of(asked: argparse.Namespace) -> Iterator[Show]:
    """A live picture on a terminal, if the library that draws it is installed; else lines."""
    if not asked.plain and sys.stdout.isatty() and find_spec("rich"):
        from postroad.demo.screen import LiveScreen

        with LiveScreen(asked.speed) as live:
            yield live.show
        return
    with PlainScreen(asked.speed) as lines:
        yield lines.show


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(prog="python -m postroad.demo", description=__doc__)
    parser.add_argument(
        "--messages", type=whole, default=600, metavar="N", help="how many to send (600)"
    )
    parser.add_argument(
        "--speed", type=factor, default=60.0, metavar="X", help="how much faster time goes (60)"
    )
    parser.add_argument(
        "--file", type=new_file, metavar="PATH", help="keep the road here; else a temporary folder"
    )
    parser.add_argument(
        "--plain", action="store_true", help="plain lines, as when the output is not a terminal"
    )
    return parser.parse_args(arguments)


def whole(text: str) -> int:
    """A number of messages."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number from 1 on")
    return int(text)


def factor(text: str) -> float:
    """Return how many times faster than real time the demo runs."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1 <= number <= 1_000:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number from 1 to 1000")
    return number


def new_file(text: str) -> Path:
    """A path at which there is nothing yet."""
    path = Path(text)
    if path.exists():
        raise argparse.ArgumentTypeError(f"{text} is there already: name a new file")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{path.parent} is no folder: make it first")
    return path


if __name__ == "__main__":
    sys.exit(main())
