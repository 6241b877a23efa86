"""The ranks of a run as the run sees them: started by torchrun's elastic agent, asked, and stopped.

The agent runs in a thread of the run, and its ranks are processes. Where a rank dies or falls silent, the agent starts
all ranks again, and the run repeats the question that was not answered: the solver waits, and nothing else is lost.
"""

import atexit
import logging
import os
import queue
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous import RendezvousError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from idbpd.errors import RanksError
from idbpd.experiment.compute_parameters import DistributedParameters
from idbpd.experiment.ranks.link import Meeting, Message, Word, receive, send
from idbpd.experiment.ranks.shared_data import SharedData, not_writable

logger = logging.getLogger(__name__)

RUN_ID = "idbpd"  # nodes with the same one meet
LOOKS = 0.1  # seconds between looks at whether the agent still works
LOGS = "logs"  # what the ranks write, in the folder of the run
FAREWELL = 10.0  # seconds in which ranks may end by themselves


class Team:
    """The ranks of one run."""

    def __init__(self, wanted: DistributedParameters) -> None:
        """Start them; they are there when the first question is answered."""
        self.wanted = wanted
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="idbpd-ranks-", dir=wanted.folder))
        except OSError as error:
            raise not_writable(Path(wanted.folder or tempfile.gettempdir()), error) from error
        self.generation = 0  # grows whenever ranks are lost: the next ones know nothing of earlier questions
        self.answering: object = None  # the problem that the ranks have
        self.shared = SharedData(self.folder)
        self.pids: list[int] = []
        self._connection: Connection | None = None
        self._arrivals: queue.Queue[Connection] = queue.Queue()
        self._failure: BaseException | None = None
        self._is_refused = False
        key = secrets.token_bytes(32)
        # A socket in the file system: one of the network would wait 40 ms before it sends a short message.
        self._listener = Listener(None, authkey=key)
        try:
            Meeting(str(self._listener.address), key.hex(), sys.path).write(self.folder)
        except OSError as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise not_writable(self.folder.parent, error) from error
        threading.Thread(target=self._accept, daemon=True).start()
        self._agent = threading.Thread(target=self._run_agent, daemon=True)
        self._agent.start()

    def ask(self, message: Message) -> Message:
        """The answer of the ranks; a ConnectionError where they are lost, and then the next ones are waited for.

        A `RanksError` says why a question was refused, or why the ranks could not be started.
        """
        connection = self._connected()
        try:
            send(connection, message)
            answer = receive(connection)
        except (EOFError, OSError) as error:
            connection.close()
            self._connection, self.answering = None, None
            self.generation += 1
            raise ConnectionError("the ranks were lost") from error
        if answer.word is Word.REFUSED:
            raise RanksError(answer.facts["reason"])
        return answer

    def close(self) -> None:
        """Let the ranks end; those that do not are killed."""
        with suppress(EOFError, OSError, queue.Empty):
            if self._connection is None and self._agent.is_alive() and not self._is_refused:
                self._connection = self._arrivals.get(timeout=FAREWELL)
            if self._connection is not None:
                send(self._connection, Message(Word.STOP))
        self._agent.join(FAREWELL)
        if self._agent.is_alive():
            self._kill()
        self._listener.close()
        self._clear()

    def _connected(self) -> Connection:
        """The line to the first rank of this machine; new ranks are waited for as long as the agent tries."""
        while self._connection is None:
            try:
                arrived = self._arrivals.get(timeout=LOOKS)
            except queue.Empty:
                if self._failure is not None or not self._agent.is_alive():
                    raise RanksError(self._why()) from self._failure
                continue
            with suppress(EOFError, OSError):  # it may have died since
                self._greet(arrived)
        return self._connection

    def _greet(self, arrived: Connection) -> None:
        hello = receive(arrived)
        if hello.word is Word.REFUSED:
            self._is_refused = True
            send(arrived, Message(Word.STOP))
            raise RanksError(hello.facts["reason"])
        self._connection, self.pids = arrived, hello.facts["pids"]
        if self.generation > 0:
            logger.warning(
                "a rank was lost, and all %d were started again (%d of at most %d times); the run goes on where it was",
                hello.facts["ranks"],
                hello.facts["restart"],
                self.wanted.restarts,
            )

    def _accept(self) -> None:
        while True:
            try:
                self._arrivals.put(self._listener.accept())
            except OSError:
                if self._listener._listener is None:  # type: ignore[attr-defined]
                    return  # closed

    def _run_agent(self) -> None:
        for its_own in ("torch.distributed.elastic", "torchelastic-events-null"):
            logging.getLogger(its_own).setLevel(logging.CRITICAL)  # its messages are summed up in one line here
        wanted = self.wanted
        patience = max(1, round(wanted.timeout))
        config = LaunchConfig(
            min_nodes=wanted.nodes,
            max_nodes=wanted.nodes,
            nproc_per_node=wanted.processes,
            run_id=RUN_ID,
            rdzv_backend="c10d",
            rdzv_endpoint=wanted.endpoint or "localhost:0",
            # The run is at the endpoint, and keeps the list of who is there.
            rdzv_configs={"join_timeout": patience, "read_timeout": patience, "is_host": True},
            max_restarts=wanted.restarts,
            logs_specs=DefaultLogsSpecs(log_dir=str(self.folder / LOGS), redirects=Std.ALL),
            shutdown_timeout=round(FAREWELL / 2),
            local_addr=_address_towards(wanted.endpoint),
        )
        worker = ("-m", "idbpd.experiment.ranks", "--home", str(self.folder))
        options = ("--backend", wanted.backend, "--timeout", str(wanted.timeout))
        try:
            elastic_launch(config, sys.executable)(*worker, *options)
        except BaseException as error:  # told to the run, which is in another thread
            self._failure = error

    def _why(self) -> str:
        """Why there are no ranks, in a line."""
        wanted, failure = self.wanted, self._failure
        if isinstance(failure, RendezvousError):
            detail = f" ({failure})" if str(failure) else ""
            return (
                f"the {wanted.nodes} nodes of compute.distributed did not meet at {wanted.endpoint or 'this machine'} "
                f"within {wanted.timeout:g} seconds{detail}; docs/scale.md says how to start them"
            )
        logs = f"; what the ranks wrote is in {self.folder}"
        if isinstance(failure, ChildFailedError):
            rank, first = failure.get_first_failure()
            reason = _first_line(first.message)
            return f"the ranks were lost {wanted.restarts + 1} times, the last time rank {rank}: {reason}{logs}"
        return f"the ranks of compute.distributed ended: {failure or 'they stopped'}{logs}"

    def _clear(self) -> None:
        """Remove data and key; what ranks wrote stays after a failure."""
        logs = self.folder / LOGS
        if self._failure is None or not any(path.is_file() for path in logs.rglob("*")):
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        for path in self.folder.iterdir():
            if path != logs:
                path.unlink(missing_ok=True)

    def _kill(self) -> None:
        for pid in self.pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _address_towards(endpoint: str | None) -> str | None:
    """The address by which other nodes find this one: that of its way to the endpoint."""
    if endpoint is None:
        return "localhost"
    host, _, port = endpoint.rpartition(":")
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.connect((host, int(port)))  # nothing is sent
        return str(way.getsockname()[0])
    return None


def _first_line(message: Any) -> str:
    text = message.get("message", "") if isinstance(message, dict) else str(message)
    return next((line for line in str(text).splitlines() if line.strip()), "no reason is known")


_teams: dict[DistributedParameters, Team] = {}
_lock = threading.Lock()


def team_of(wanted: DistributedParameters) -> Team:
    """The ranks of this run; they are started if they do not run yet."""
    with _lock:
        if wanted not in _teams:
            if not _teams:
                atexit.register(dismiss)
            _teams[wanted] = Team(wanted)
        return _teams[wanted]


def dismiss() -> None:
    """End all ranks of this process."""
    with _lock:
        while _teams:
            _teams.popitem()[1].close()
