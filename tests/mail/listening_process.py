"""A road that listens for bounces, until it is killed: `python -m tests.mail.listening_process
FOLDER PORT`."""

import asyncio
import sys
from pathlib import Path

from tests.mail.bounce_client import listening_road, running


async def serve(folder: Path, port: int) -> None:
    road = listening_road(folder, port=port)
    async with road, running(road):
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        await asyncio.sleep(3_600)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
