"""A task or thread of ours that dies is heard: it is started through `Tasks`, or stands here."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "postroad"
STARTS = {"create_task", "ensure_future", "Thread", "ThreadPoolExecutor", "TaskGroup"}
HANDED = "what it raises is handed to those who wait for it"
AWAITED = "awaited in the same function, which raises what it raised"
HEARD = {
    "api/tls_server.py create_task": "takes connections, and goes on after whatever a socket raises",
    "hub/client_connection.py create_task": "it suppresses whatever ended a connection",
    "hub/tls_listener.py create_task": "takes connections, and goes on after whatever a socket raises",
    "observe/watcher.py Thread": "another process, which ends the stuck one whatever becomes of it",
    "api/serving.py create_task": "a TaskGroup ends the server with what it raised",
    "api/serving.py TaskGroup": "ends the server with what one of it raised",
    "api/app.py ensure_future": "both are awaited, and what writing raised is logged",
    "verbs/endpoint_watch.py ensure_future": AWAITED,
    "verbs/running.py ensure_future": AWAITED,
    "campaigns/importing.py create_task": AWAITED,
    "cli/supervisor.py create_task": "a TaskGroup ends the supervisor with what it raised",
    "cli/supervisor.py TaskGroup": "ends the supervisor with what one of it raised",
    "dashboard/front.py ensure_future": AWAITED,
    "engine/intake.py create_task": HANDED,
    "engine/lane_claims.py create_task": AWAITED,
    "engine/runners.py create_task": "its end is told to the engine, which breaks with it",
    "hub/client.py create_task": "a client's own: who asks or receives is told why",
    "hub/pump.py create_task": "its end is awaited by the server (`ended`), which ends with it",
    "observe/figures.py ensure_future": HANDED,
    "observe/tasks.py create_task": "the one way",
    "observe/watchdog.py Thread": "watches; should it die, nothing is watched and all else goes on",
    "stores/postgres/inbox.py create_task": HANDED,
    "stores/rabbitmq/consuming/serving.py create_task": "logs whatever breaks it; nothing depends on it",
    "stores/sqlite/writer.py Thread": HANDED,
    "sync.py Thread": "runs a loop; what its verbs raise is raised where they were called",
    "transports/child_main.py Thread": "in a child process; should it die, the pipe's end still ends it",
    "transports/children.py create_task": "waits for a process to end, and is awaited at the close",
    "transports/gathering.py create_task": HANDED,
    "transports/hub.py create_task": "closes a connection that nobody needs any more",
    "transports/smtp/attached.py create_task": HANDED,
    "transports/smtp/resolver.py create_task": AWAITED,
    "transports/threads.py Thread": HANDED,
    "transports/webhook/endpoints.py create_task": "reads ahead: what failed is read again, openly",
    "transports/webhook/event_bodies.py create_task": HANDED,
    "transports/webhook/tokens.py create_task": HANDED,
    "transports/webhook/transforms.py create_task": HANDED,
    "transports/webhook/resolving.py ThreadPoolExecutor": HANDED,
}
ELSEWHERE = ("demo", "testing")
"""Not a process of anybody's road."""


def started(text: str) -> Iterator[str]:
    if not any(name in text for name in STARTS):
        return
    for node in ast.walk(ast.parse(text)):
        called = node.func if isinstance(node, ast.Call) else None
        bases = node.bases if isinstance(node, ast.ClassDef) else []
        for one in [called, *bases]:
            name = getattr(one, "attr", getattr(one, "id", ""))
            if name in STARTS:
                yield name


def found(source: Path) -> set[str]:
    return {
        f"{path.relative_to(source).as_posix()} {name}"
        for path in source.rglob("*.py")
        if path.relative_to(source).parts[0] not in ELSEWHERE
        for name in started(path.read_text())
    }


def test_every_task_and_thread_of_ours_is_heard_when_it_dies() -> None:
    assert found(SOURCE) == set(HEARD)


def test_one_that_is_started_in_some_other_way_is_found(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text(
        "import asyncio, threading\n"
        "async def run(): asyncio.get_running_loop().create_task(run())\n"
        "class Worker(threading.Thread): ...\n"
    )
    assert found(tmp_path) == {"new.py create_task", "new.py Thread"}
