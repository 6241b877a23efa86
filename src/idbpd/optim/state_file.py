"""Saving a run's state to a file and reading it back, exactly: tensors and plain data only, no code in the file.

A file is one line (what it is, and the SHA-256 of the rest) and then what `torch.save` writes: torch alone would load a
file with flipped bits without a word.
"""

import hashlib
import io
import json
import os
import pickle
import tempfile
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from idbpd.optim.initial_metric import LayeredMetric, LayerMetric, RestrictedMetric
from idbpd.optim.kinks.bundle import Bundle
from idbpd.optim.kkt import Residuals
from idbpd.optim.method import Iterate, Status, Verdict
from idbpd.optim.oracle import Evaluation, Gradients, Maximisers
from idbpd.optim.paper.algorithm1 import Algorithm1State
from idbpd.optim.quasi_newton.lbfgs import Metric
from idbpd.optim.quasi_newton.penalty import Penalty
from idbpd.optim.quasi_newton.phases import IDBPDState, Phase, RestorationMemory
from idbpd.optim.quasi_newton.point import EvaluatedPoint, MetricGradients
from idbpd.optim.quasi_newton.speculative_trial import SpeculativeTrial
from idbpd.optim.scaling import Scaling
from idbpd.optim.solution import Best, History, RunState

_FORMAT = 8  # goes up with every change of what a state consists of
_FIRST_WORDS = "idbpd state"  # of a file: tells it from any other
_KINDS: dict[str, type[Any]] = {}  # by name: all that a file may contain


def register(kind: type[Any]) -> type[Any]:
    """Make a NamedTuple or an Enum, a part of the state of a method, known to the files. Usable as a decorator."""
    if not (hasattr(kind, "_fields") or issubclass(kind, Enum)):
        raise TypeError(f"{kind.__name__} must be a NamedTuple or an Enum to be part of a saved state")
    if _KINDS.setdefault(kind.__name__, kind) is not kind:
        raise ValueError(f"a state with the name {kind.__name__} is registered already")
    return kind


_OURS: tuple[type[Any], ...] = (
    *(RunState, Best, History, Iterate, Evaluation, Gradients, Maximisers, Residuals, Verdict, Status),
    *(IDBPDState, Phase, EvaluatedPoint, MetricGradients, Metric, Penalty, RestorationMemory, SpeculativeTrial),
    *(Bundle, Algorithm1State, Scaling, LayeredMetric, LayerMetric, RestrictedMetric),
)
for _kind in _OURS:
    register(_kind)


def save_state(state: RunState, path: str | Path, note: Mapping[str, Any] | None = None) -> None:
    """Write ``state`` to ``path``: either all of it or, when the process or the machine dies on the way, nothing.

    ``note`` is plain data, as JSON can hold it, that travels in the same file.
    """
    path = Path(path)
    content = io.BytesIO()
    torch.save({"note": json.dumps(dict(note or {})), "state": _encode(state)}, content)
    body = content.getbuffer()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".partial-{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(f"{_FIRST_WORDS} {_FORMAT} {hashlib.sha256(body).hexdigest()}\n".encode())
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name outlast a power failure too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def load_state(path: str | Path) -> RunState:
    """The state that `save_state` wrote, each tensor on the device where it was."""
    return load_noted_state(path)[0]


def load_noted_state(path: str | Path) -> tuple[RunState, dict[str, Any]]:
    """The state that `save_state` wrote, and the note beside it.

    A ``ValueError`` says what is wrong with a file that is damaged, of another version, or something else.
    """
    with Path(path).open("rb") as file:
        first_line, body = file.readline(200), file.read()
    words = first_line.decode(errors="replace").rpartition(f"{_FIRST_WORDS} ")[2].split()
    if not first_line.startswith(_FIRST_WORDS.encode()) or len(words) != 2:
        raise ValueError(f"{path} is not a saved state")
    if words[0] != str(_FORMAT):
        raise ValueError(f"{path} is a saved state of format {words[0]}; this version reads format {_FORMAT}")
    if hashlib.sha256(body).hexdigest() != words[1]:
        raise ValueError(f"{path} is damaged: its content does not match its checksum")
    try:
        content = torch.load(io.BytesIO(body), weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise ValueError(f"{path} is not a saved state") from error
    state = _decode(content["state"])
    if not isinstance(state, RunState):
        raise ValueError(f"{path} holds a {type(state).__name__}, not the state of a run")
    return state, json.loads(content["note"])


def _encode(value: object) -> object:
    """Plain data for ``value``: a NamedTuple or an Enum becomes a dict with its name, a tuple a list in a dict."""
    fields = getattr(value, "_fields", None)
    if fields is not None:
        if type(value).__name__ not in _KINDS:
            raise TypeError(
                f"{type(value).__name__} is not known to saved states; register it with state_file.register"
            )
        return {"kind": type(value).__name__, "parts": {name: _encode(getattr(value, name)) for name in fields}}
    if isinstance(value, Enum):
        return {"kind": type(value).__name__, "parts": value.value}
    if isinstance(value, tuple):
        return {"kind": "", "parts": [_encode(part) for part in value]}
    if isinstance(value, Tensor):
        # A copy: a view would drag the whole storage behind it into the file.
        return value.detach().clone()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a saved state cannot hold a {type(value).__name__}")


def _decode(value: object) -> object:
    if not isinstance(value, dict):
        return value
    kind, parts = value["kind"], value["parts"]
    if kind == "":
        return tuple(_decode(part) for part in parts)
    if kind not in _KINDS:
        raise ValueError(f"the saved state has a part of the unknown kind {kind!r}; known: {', '.join(sorted(_KINDS))}")
    if issubclass(_KINDS[kind], Enum):
        return _KINDS[kind](parts)
    if set(parts) != set(_KINDS[kind]._fields):
        raise ValueError(f"the saved state is of another version: its {kind} has the parts {', '.join(parts)}")
    return _KINDS[kind](**{name: _decode(part) for name, part in parts.items()})
