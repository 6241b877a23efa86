"""Saving a run's state to a file and reading it back, exactly: tensors and plain data only, no code in the file."""

import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from idbpd.optim.algorithm1 import Algorithm1State
from idbpd.optim.idbpd import IDBPDState
from idbpd.optim.kkt import Residuals
from idbpd.optim.method import Verdict
from idbpd.optim.metric import Metric
from idbpd.optim.oracle import Evaluation, Gradients, Maximisers
from idbpd.optim.outlook import Ahead
from idbpd.optim.place import Place, Slopes
from idbpd.optim.solution import Best, History, RunState

_FORMAT = 2
_KINDS: dict[str, type[tuple[Any, ...]]] = {}


def register(kind: type[tuple[Any, ...]]) -> type[tuple[Any, ...]]:
    """Make a NamedTuple known to the files; a method registers the parts of its state. Usable as a decorator."""
    if not hasattr(kind, "_fields"):
        raise TypeError(f"{kind.__name__} must be a NamedTuple to be part of a saved state")
    if _KINDS.setdefault(kind.__name__, kind) is not kind:
        raise ValueError(f"a state with the name {kind.__name__} is registered already")
    return kind


_OURS: tuple[type[tuple[Any, ...]], ...] = (
    *(RunState, Best, History, Evaluation, Gradients, Maximisers, Residuals, Verdict),
    *(Algorithm1State, IDBPDState, Place, Slopes, Ahead, Metric),
)
for _kind in _OURS:
    register(_kind)

# What stays in host memory whatever the device of the run is.
_ON_HOST = {
    "History": set(History._fields),
    "IDBPDState": {"margin"},
    "Place": {"g", "certifying", "products"},
    "Slopes": {"gram"},
    "Ahead": {"weights", "g"},
}


def save_state(state: RunState, path: str | Path) -> None:
    """Write ``state`` to ``path``: either all of it or, when the process dies on the way, nothing."""
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            torch.save({"format": _FORMAT, "state": _encode(state)}, file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load_state(path: str | Path, device: torch.device | str | None = None) -> RunState:
    """The state that `save_state` wrote, on ``device`` (where it was, when None)."""
    try:
        content = torch.load(path, map_location=None if device is None else "cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise ValueError(f"{path} is not a saved state") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(f"{path} is not a saved state of format {_FORMAT}")
    state = _decode(content["state"], device)
    if not isinstance(state, RunState):
        raise ValueError(f"{path} holds a {type(state).__name__}, not the state of a run")
    return state


def _encode(value: object) -> object:
    """Plain data for ``value``: a NamedTuple becomes a dict with its name, a tuple a list in a dict, the rest stays."""
    fields = getattr(value, "_fields", None)
    if fields is not None:
        if type(value).__name__ not in _KINDS:
            raise TypeError(
                f"{type(value).__name__} is not known to saved states; register it with checkpoint.register"
            )
        return {"kind": type(value).__name__, "parts": {name: _encode(getattr(value, name)) for name in fields}}
    if isinstance(value, tuple):
        return {"kind": "", "parts": [_encode(part) for part in value]}
    if isinstance(value, Tensor):
        # A copy: a view would drag the whole storage behind it into the file.
        return value.detach().clone()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a saved state cannot hold a {type(value).__name__}")


def _decode(value: object, device: torch.device | str | None) -> object:
    """What `_encode` made plain, with its tensors on ``device``, or where they are when None."""
    if isinstance(value, Tensor):
        return value if device is None else value.to(device)
    if not isinstance(value, dict):
        return value
    kind, parts = value["kind"], value["parts"]
    if kind == "":
        return tuple(_decode(part, device) for part in parts)
    if kind not in _KINDS:
        raise ValueError(f"the saved state has a part of the unknown kind {kind!r}; known: {', '.join(sorted(_KINDS))}")
    on_host = _ON_HOST.get(kind, set())
    return _KINDS[kind](**{name: _decode(part, None if name in on_host else device) for name, part in parts.items()})
