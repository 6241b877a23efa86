"""Names of a package whose modules are imported only when a name is first used."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def names_from(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package; ``modules`` has the module inside the package for every name.

    Torch, pandas, scikit-learn and MLflow together take seconds to import, and no command needs all of them.
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    return find
