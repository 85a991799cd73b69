"""Copies a road in small batches, tells each one on a line, and waits at the last of a table for
somebody to kill it."""

import asyncio
import sys
import time

from postroad.stores import copying


def main(source: str, target: str, table: str) -> None:
    copying.BATCH = 4  # type: ignore[misc]

    def told(name: str, done: int, total: int) -> None:
        sys.stdout.write(f"{name} {done} {total}\n")
        sys.stdout.flush()
        if (name, done) == (table, total):
            time.sleep(60)

    asyncio.run(copying.copy(source, target, told))


if __name__ == "__main__":
    main(*sys.argv[1:])
