"""What goes between a run and the first rank on its machine: a word, a few facts as JSON, and the bytes of a tensor.

Nothing is pickled: only a process that knows the key can speak, and all that it says is data.
"""

import json
from collections.abc import Mapping
from enum import IntEnum
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

MEETING = "meeting.json"  # in the folder of a run: where its first rank finds it


class Word(IntEnum):
    """What is asked or answered."""

    IDLE = 0  # among ranks: nothing to do, but all are there
    STOP = 1
    PROBLEM = 2  # facts: which problem the next points belong to
    VALUES = 3  # a point
    GRADIENTS = 4  # at the last point
    HELLO = 5  # facts: who is there
    DONE = 6
    REFUSED = 7  # facts: why
    FEATURES = 8  # a point; the moments of the features
    MOMENTS = 9  # facts: how much each task counts; the moments at the last point


class Message(NamedTuple):
    """One message."""

    word: Word
    facts: Mapping[str, Any] = MappingProxyType({})
    content: bytes = b""


class Meeting(NamedTuple):
    """Where a run listens, the key to it, and where it finds Python modules."""

    address: str
    key: str
    path: list[str]

    def write(self, folder: Path) -> None:
        """Leave it in the folder of the run, which nobody else may read."""
        (folder / MEETING).write_text(json.dumps(self._asdict()))

    @classmethod
    def read(cls, folder: Path) -> "Meeting":
        """As the run left it."""
        return cls(**json.loads((folder / MEETING).read_text()))


def send(connection: Connection, message: Message) -> None:
    """Send a message in two parts."""
    connection.send_bytes(json.dumps([int(message.word), dict(message.facts)]).encode())
    connection.send_bytes(message.content)


def receive(connection: Connection) -> Message:
    """Wait for a message; an EOFError or OSError where nobody is there any more."""
    word, facts = json.loads(connection.recv_bytes())
    return Message(Word(word), facts, connection.recv_bytes())
