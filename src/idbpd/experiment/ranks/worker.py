"""What one rank does: hold its samples, and answer with all other ranks for points that the run sends.

The chief, the first rank on the machine of the run, hears the run and tells the others. A rank keeps nothing that
could be lost: one that is started again gets problem and point anew.
"""

import json
import os
import sys
import threading
import time
from contextlib import ExitStack
from datetime import timedelta
from multiprocessing.connection import Client, Connection
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from idbpd.errors import InputError
from idbpd.experiment.machine.computing import computing
from idbpd.experiment.machine.devices import resolve_device
from idbpd.experiment.ranks.agreement import disagreement, everyone
from idbpd.experiment.ranks.link import Meeting, Message, Word, receive, send
from idbpd.experiment.ranks.posed import Posed, Poser
from idbpd.experiment.ranks.sent_moments import as_message

START = 60.0  # seconds, at least, in which all processes have imported what they need
HEARTBEATS = 4  # signs of life that the chief sends in the time after which a silent rank is given up


def work(home: Path | None, backend: str, timeout: float) -> None:
    """Serve the run until it says stop; an error ends the rank, and torchrun starts all ranks again."""
    _end_with(os.getppid())
    meeting = None if home is None else Meeting.read(home)
    if meeting is not None:
        sys.path[:] = [*sys.path, *(entry for entry in meeting.path if entry not in sys.path)]
    # Numbers that decide are added up on the host, whatever the device is.
    backends = "cpu:gloo,cuda:nccl" if backend == "nccl" else "gloo"
    _meet(backends, timeout)
    is_home = [text == "home" for text in everyone("home" if meeting is not None else "")]
    chief = is_home.index(True)
    connection = None
    if meeting is not None and chief == dist.get_rank():
        connection = Client(meeting.address, authkey=bytes.fromhex(meeting.key))
    _Rank(chief, connection, timeout / HEARTBEATS, is_home=meeting is not None).serve()
    dist.destroy_process_group()


def _meet(backends: str, timeout: float) -> None:
    """Join the others. Processes that start are slow for other reasons than those that compute: they get more time."""
    started = timedelta(seconds=max(timeout, START))
    store, rank, ranks = next(rendezvous("env://", timeout=started))
    meeting = PrefixStore(f"attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    meeting.set(f"rank {rank}", "here")
    meeting.wait([f"rank {other}" for other in range(ranks)], started)
    dist.init_process_group(backends, store=meeting, rank=rank, world_size=ranks, timeout=timedelta(seconds=timeout))


class _Rank:
    """One rank, ready to serve."""

    def __init__(self, chief: int, connection: Connection | None, patience: float, *, is_home: bool) -> None:
        self._chief, self._connection, self._patience = chief, connection, patience
        self._poser = Poser(is_home=is_home)
        self._posed: Posed | None = None
        self._settings = ExitStack()

    def serve(self) -> None:
        """Answer until the run says stop."""
        refused = disagreement()
        who = {"ranks": dist.get_world_size(), "restart": int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))}
        pids = [int(text) for text in everyone(str(os.getpid()))]
        self._answer(Message(Word.REFUSED if refused else Word.HELLO, {**who, "pids": pids, "reason": refused}))
        while True:
            message = self._heard()
            if message.word is Word.STOP:
                return
            if message.word is Word.PROBLEM:
                self._answer(self._pose(message))
            elif message.word is Word.VALUES:
                assert self._posed is not None  # a problem comes first
                self._answer(Message(Word.DONE, content=_bytes(self._posed.values(message.content))))
            elif message.word is Word.FEATURES:
                assert self._posed is not None
                self._answer(as_message(self._posed.moments_of_features(message.content)))
            elif message.word is Word.MOMENTS:
                assert self._posed is not None
                self._answer(as_message(self._posed.terms.moments(message.facts["factors"])))
            elif message.word is Word.GRADIENTS:
                assert self._posed is not None
                gradients = self._posed.terms.gradients()
                # The run is the only one to need them.
                content = b"" if self._connection is None else _bytes(gradients)
                self._answer(Message(Word.DONE, content=content))

    def _pose(self, message: Message) -> Message:
        """Take a problem, unless some rank cannot: then say why."""
        reason = ""
        self._posed = None  # the memory of the last problem is free before the next needs some
        self._settings.close()
        facts = message.facts
        self._settings.enter_context(computing(facts["threads"], deterministic=facts["deterministic"]))
        try:
            self._posed = self._poser.pose(facts, _device(facts["device"]))
        except (InputError, ValueError, OSError) as error:
            reason = f"{error}".splitlines()[0] or type(error).__name__
        refused = next((text for text in everyone(reason) if text), "")
        return Message(Word.REFUSED, {"reason": refused}) if refused else Message(Word.DONE)

    def _heard(self) -> Message:
        """The next message of the run, which the chief hears and passes on."""
        message = Message(Word.IDLE)
        while message.word is Word.IDLE:
            if self._connection is not None:
                message = Message(Word.IDLE)
                if self._connection.poll(self._patience):
                    message = receive(self._connection)
            message = self._passed_on(message)
        return message

    def _passed_on(self, message: Message) -> Message:
        facts = json.dumps(dict(message.facts)).encode() if message.facts else b""
        sizes = torch.tensor([int(message.word), len(facts), len(message.content)])
        dist.broadcast(sizes, self._chief)
        word, *lengths = sizes.tolist()
        parts = []
        for length, mine in zip(lengths, (facts, message.content), strict=True):
            if length == 0:
                parts.append(b"")
                continue
            is_chief = self._connection is not None
            tensor = torch.frombuffer(bytearray(mine if is_chief else length), dtype=torch.uint8)
            dist.broadcast(tensor, self._chief)
            parts.append(tensor.numpy().tobytes())
        return Message(Word(word), json.loads(parts[0]) if parts[0] else {}, parts[1])

    def _answer(self, message: Message) -> None:
        if self._connection is not None:
            send(self._connection, message)


def _device(name: str) -> torch.device:
    device = resolve_device(name)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    return device


def _bytes(tensor: Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().numpy().tobytes()


def _end_with(parent: int) -> None:
    """End when the agent has ended: a run that was killed leaves no process behind."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
