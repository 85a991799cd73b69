"""A private RabbitMQ: own node name, ports, folder, cookie and epmd, gone when the test is."""

import atexit
import contextlib
import functools
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote, urlsplit

from postroad.stores.rabbitmq.topology.topology import Topology
from tests.servers import Account, ServerMissing, apt_install, free_port, unprivileged

ELSEWHERE = "POSTROAD_TEST_AMQP"
PROGRAMS = Path("/usr/lib/rabbitmq/bin")
CONFIG = """
listeners.tcp.1 = 127.0.0.1:{port}
default_user = road
default_pass = {password}
loopback_users = none
disk_free_limit.absolute = 50MB
log.file.level = info
log.console = false
"""
# Schedulers that wait busily would take the second core from the tests.
ERLANG = "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none"
UNSTUCK = "-rabbit dead_letter_worker_publisher_confirm_timeout 5000"
"""What a delay queue hands on while its target has no leader yet, just after a restart, is handed
on again after 3 minutes by default."""
IS_DELAY = 'lists:keymember(<<"x-dead-letter-strategy">>, 1, amqqueue:get_arguments(Q_))'
EMPTIED = """
 Queues_ = rabbit_amqqueue:list(<<"{vhost}">>),
 Of_handler_ = fun(Name_) -> binary:match(element(4, Name_), <<".handler.">>) =/= nomatch end,
 {{Handlers_, Kept_}} = lists:partition(fun(Q_) -> Of_handler_(amqqueue:get_name(Q_)) end, Queues_),
 [rabbit_amqqueue:delete(Q_, false, false, <<"test">>) || Q_ <- Handlers_],
 [rabbit_exchange:delete(element(2, X_), false, <<"test">>) || X_ <- rabbit_exchange:list(<<"{vhost}">>), Of_handler_(element(2, X_))],
 [rabbit_amqqueue:purge(Q_) || Q_ <- Kept_],
 Total_ = fun(Q_) -> {{ok, {{_, N_}}, _}} = ra:leader_query(amqqueue:get_pid(Q_), fun rabbit_fifo:query_messages_total/1), N_ end,
 Ttls_ = [T_ || Q_ <- Kept_, {{<<"x-message-ttl">>, _, T_}} <- amqqueue:get_arguments(Q_)],
 Own_ = [Q_ || Q_ <- Kept_, binary:match(element(4, amqqueue:get_name(Q_)), <<"{prefix}">>) =:= {{0, {size}}}],
 {{length(Own_), length(Kept_), length(rabbit_exchange:list(<<"{vhost}">>)), length(rabbit_binding:list(<<"{vhost}">>)),
  lists:sum(Ttls_), lists:sum([Total_(Q_) || Q_ <- Kept_]),
  rabbit_policy:list(<<"{vhost}">>), rabbit_connection_tracking:list(<<"{vhost}">>)}}
"""
"""Takes all messages and handlers out of a vhost, and tells what is left there."""
EXCHANGES = 8
"""Those that every vhost has, and one that says that all is made."""
GREETING = b"AMQP\x00\x00\x09\x01"


class NotPrivate(RuntimeError):
    """`POSTROAD_TEST_AMQP` names somebody else's broker, which is not ours to command."""


@functools.cache
def program() -> Path:
    """The broker's start script; installs the package when it is missing."""
    script = PROGRAMS / "rabbitmq-server"
    if not script.exists() or shutil.which("erl_call") is None:
        apt_install("rabbitmq-server")
    if not script.exists():
        raise ServerMissing(f"no {script}: run `apt-get install rabbitmq-server` as root")
    return script


def _copy_programs(home: Path) -> None:
    """The broker without its plugins: it looks for each of 900 modules in all of their folders, and a
    start took 4.5 s of CPU, not 3."""
    there = program().resolve().parents[1]
    shutil.copytree(there / "sbin", home / "sbin")
    (home / "plugins").mkdir()
    for app in (there / "plugins").iterdir():
        if not app.name.startswith("rabbitmq_") or app.name.startswith("rabbitmq_prelaunch"):
            (home / "plugins" / app.name).symlink_to(app)


def account() -> Account:
    """Whom the broker runs as: Debian's `rabbitmq`, or ourselves when we are not root."""
    return unprivileged("rabbitmq")


class PrivateRabbit:
    """One broker of our own. `with PrivateRabbit() as rabbit: dsn = rabbit.create_vhost()`.

    On a broker elsewhere every vhost is the one of its address: tests use names of their own.
    """

    def __init__(
        self, erlang: str = "", *, feature_flags: str | None = None, **config: str
    ) -> None:
        self._erlang = f"{ERLANG} {erlang}"
        self._config = config
        self._flags = feature_flags  # those that it begins with, instead of all
        self.elsewhere = os.environ.get(ELSEWHERE)
        self.port, self._epmd_port, self._link_port = (
            (0, 0, 0) if self.elsewhere else (free_port(), free_port(), free_port())
        )
        self.folder: Path | None = None
        self._password = secrets.token_hex(8)
        self._node = f"road{secrets.token_hex(4)}@localhost"
        self._server: subprocess.Popen[bytes] | None = None
        self._epmd: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._idle: list[str] = []

    def __enter__(self) -> Self:
        if not self.elsewhere:
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The broker's process id."""
        if self._server is None:
            raise NotPrivate(f"{ELSEWHERE} is set" if self.elsewhere else "not started")
        return self._server.pid

    @property
    def epmd_pid(self) -> int:
        """The process id of its private port mapper."""
        if self._epmd is None:
            raise NotPrivate(f"{ELSEWHERE} is set" if self.elsewhere else "not started")
        return self._epmd.pid

    @functools.cached_property
    def version(self) -> str:
        """As the broker numbers itself: 3.10.8. Nobody knows it of one elsewhere without asking."""
        if self.elsewhere:
            return "elsewhere"
        return self.eval("list_to_atom(rabbit_misc:version())").strip("'")

    def dsn(self, vhost: str = "/") -> str:
        """Where user `road` reaches `vhost`."""
        if self.elsewhere:
            return self.elsewhere
        return f"amqp://road:{self._password}@127.0.0.1:{self.port}/{quote(vhost, safe='')}"

    def create_vhost(self) -> str:
        """A fresh, empty vhost; returns its dsn."""
        if self.elsewhere:
            return self.elsewhere
        name = f"road_{secrets.token_hex(6)}"
        every = '<<".*">>'
        self.eval(
            f'ok = rabbit_vhost:add(<<"{name}">>, <<"test">>),'
            f' rabbit_auth_backend_internal:set_permissions(<<"road">>, <<"{name}">>,'
            f' {every}, {every}, {every}, <<"test">>)'
        )
        return self.dsn(name)

    def borrow_vhost(self) -> str:
        """An empty vhost, in which the queues of a road are there already if somebody gave one back:
        to declare and delete them takes a second of CPU."""
        return self._idle.pop() if self._idle else self.create_vhost()

    def give_back(self, dsn: str) -> None:
        """Keep a vhost for the next test if it is a road's and nothing else: with all its queues, no
        message, policy or connection. Otherwise remove it."""
        if self.elsewhere:
            return
        name = urlsplit(dsn).path[1:]
        prefix = Topology().name("")
        emptied = EMPTIED.format(vhost=name, prefix=prefix, size=len(prefix)).replace("\n", " ")
        if self._server is not None and self.eval(emptied) == self._whole():
            self._idle.append(dsn)
        else:
            self.delete_vhost(dsn)

    @staticmethod
    @functools.cache
    def _whole() -> str:
        plan = Topology().plan()
        queues, exchanges = len(plan.broker_queues), len(plan.exchanges) + EXCHANGES
        ttl_ms = sum(int(queue.arguments.get("x-message-ttl", 0)) for queue in plan.broker_queues)
        return f"{{{queues},{queues},{exchanges},{len(plan.bindings) + queues},{ttl_ms},0,[],[]}}"

    def delete_vhost(self, dsn: str) -> None:
        """Remove what `create_vhost` made, with its queues.

        A delay queue that goes just when it gets a leader takes the broker's supervisor of all delay
        queues with it, for good (3.10.8). So each has to have one, and its worker has to have begun.
        """
        if not self.elsewhere:
            name = urlsplit(dsn).path[1:]
            self.eval(
                f'Delays_ = [Q_ || Q_ <- rabbit_amqqueue:list(<<"{name}">>), {IS_DELAY}],'
                " [ra:leader_query(amqqueue:get_pid(Q_), fun rabbit_fifo:query_messages_total/1)"
                " || Q_ <- Delays_],"
                " [sys:get_state(P_) || {_, P_, _, _} <- supervisor:which_children(rabbit_fifo_dlx_sup)],"
                f' rabbit_vhost:delete(<<"{name}">>, <<"test">>)'
            )

    def start(self) -> None:
        """Start, the first time making the node; returns when it greets clients."""
        self._refuse_elsewhere()
        if self._server is not None:
            raise RuntimeError("already started")
        folder = self.folder or self._make_folder()
        if self._epmd is None:
            command = ["epmd", "-port", str(self._epmd_port), "-address", "127.0.0.1"]
            self._epmd = self._run(command, folder)
        self._server = self._run([str(folder / "home" / "sbin" / "rabbitmq-server")], folder)
        self._guard = self._kill_when_we_die(self._server.pid, self._epmd.pid)
        self._wait_ready(folder)

    def stop(self) -> None:
        """Stop in good order and keep the data."""
        self._end(signal.SIGTERM)

    def write_out(self) -> None:
        """Write the names of new queues' logs now, and not within 3 s (decision 064): what is not on
        the disk is gone after a kill."""
        self.eval("[dets:sync(T_) || T_ <- dets:all()]")

    def kill(self) -> None:
        """A kill -9: what is not on the disk is gone."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Answer nothing, with every connection open, until `thaw`."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Go on after `freeze`."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Kill broker and port mapper, remove the folder."""
        if self.elsewhere:
            return
        self.kill()
        if self._epmd is not None:
            self._epmd.kill()
            self._epmd.wait(30)
            self._epmd = None
        if self.folder is not None:
            shutil.rmtree(self.folder)
            self.folder = None
        atexit.unregister(self.close)

    def eval(self, expression: str) -> str:
        """Have the broker evaluate an Erlang expression; returns its value as Erlang prints it."""
        self._refuse_elsewhere()
        assert self.folder is not None
        cookie = (self.folder / ".erlang.cookie").read_text()
        # By default every caller has the same name, and the broker turns one away for as long as
        # it has not seen the last one go.
        caller = ["-h", f"caller{secrets.token_hex(4)}"]
        call = ["erl_call", "-n", self._node, *caller, "-c", cookie, "-timeout", "120", "-e"]
        print_it = 'lists:flatten(io_lib:format("~0tp", [V_]))'
        text = f"try V_ = begin {expression} end, {{yes, {print_it}}} catch C_:E_ -> {{no, C_, E_}} end.\n"
        done = subprocess.run(
            call,
            input=text,
            env=self._env(self.folder),
            capture_output=True,
            text=True,
            check=False,
        )
        answer = done.stdout.strip()
        if not answer.startswith('{ok, {yes, "'):
            raise RuntimeError(f"{answer or done.stderr.strip()} in {expression!r}")
        return answer.removeprefix('{ok, {yes, "').removesuffix('"}}').replace('\\"', '"')

    def depth(self, dsn: str, queue: str) -> int:
        """How many messages a quorum queue has, those that consumers hold among them."""
        vhost = unquote(urlsplit(dsn).path[1:]) or "/"
        found = f'rabbit_amqqueue:lookup(rabbit_misc:r(<<"{vhost}">>, queue, <<"{queue}">>))'
        ask = "ra:leader_query(amqqueue:get_pid(Q_), fun rabbit_fifo:query_messages_total/1)"
        return int(self.eval(f"{{ok, Q_}} = {found}, {{ok, {{_, N_}}, _}} = {ask}, N_"))

    def block(self) -> None:
        """A memory alarm: the broker reads from publishers no more, and tells them. Each connection
        is asked something, so that it has heard of the alarm when this returns."""
        self.eval(
            "rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}),"
            " rabbit_alarm:get_alarms(),"
            " [rabbit_networking:connection_info(P_, [state])"
            " || P_ <- rabbit_networking:connections()], ok"
        )

    def unblock(self) -> None:
        """The memory alarm is over."""
        self.eval("rabbit_alarm:clear_alarm({resource_limit, memory, node()})")

    def close_connections(self, reason: str = "test") -> None:
        """Close every client's connection, as an operator would."""
        self.eval(
            f'[rabbit_networking:close_connection(P_, "{reason}")'
            " || P_ <- rabbit_networking:connections()], ok"
        )

    def _make_folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="road-rabbit-"))
        self.folder = folder
        atexit.register(self.close)
        config = CONFIG.format(port=self.port, password=self._password)
        config += "".join(f"{name} = {value}\n" for name, value in self._config.items())
        (folder / "rabbitmq.conf").write_text(config)
        (folder / "enabled_plugins").write_text("[].\n")
        _copy_programs(folder / "home")
        cookie = folder / ".erlang.cookie"
        cookie.write_text(secrets.token_hex(16))
        cookie.chmod(0o400)
        who = account()
        if who:
            for path in (folder, *folder.iterdir()):
                shutil.chown(path, who["user"], who["group"])
        return folder

    def _env(self, folder: Path) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"] + ":/usr/sbin:/usr/bin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": self._node,
            "RABBITMQ_DIST_PORT": str(self._link_port),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "no-env"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": self._erlang,
            # The script becomes the broker instead of starting it: its process id is the broker's.
            "RUNNING_UNDER_SYSTEMD": "true",
            **({} if self._flags is None else {"RABBITMQ_FEATURE_FLAGS": self._flags}),
        }

    def _run(self, command: list[str], folder: Path) -> subprocess.Popen[bytes]:
        with (folder / "out").open("ab") as out:
            return subprocess.Popen(
                command,
                cwd=folder,
                env=self._env(folder),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                **account(),
            )

    def _kill_when_we_die(self, *pids: int) -> subprocess.Popen[bytes]:
        # As for PrivatePostgres: the pipe closes however we end.
        script = f"read _; kill -9 {' '.join(map(str, pids))}"
        return subprocess.Popen(
            ["/bin/sh", "-c", script], stdin=subprocess.PIPE, start_new_session=True
        )

    def _wait_ready(self, folder: Path, timeout_s: float = 120) -> None:
        assert self._server is not None
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and self._server.poll() is None:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), 1) as probe,
            ):
                probe.sendall(GREETING)
                if probe.recv(8):
                    return
            time.sleep(0.05)
        logs = [folder / "out", *(folder / "log").glob("*.log")]
        told = "\n".join(log.read_text()[-1000:] for log in logs)
        self.kill()
        raise RuntimeError("RabbitMQ did not start: " + told)

    def _end(self, how: signal.Signals) -> None:
        self._refuse_elsewhere()
        self._idle.clear()  # a kill may break them
        if self._server is None:
            return
        self._server.send_signal(how)
        self._server.wait(60)
        self._server = None
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None

    def _refuse_elsewhere(self) -> None:
        if self.elsewhere:
            raise NotPrivate(f"{ELSEWHERE} names a broker that is not ours to command")
