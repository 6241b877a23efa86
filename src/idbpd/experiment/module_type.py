"""The class of a network, found by the name in ``model.type``."""

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from torch import nn

from idbpd.errors import ConfigurationError


def module_class(type_name: str) -> type[nn.Module]:
    """The class of that full name; a `ConfigurationError` says why there is none."""
    module, _, name = type_name.rpartition(".")
    if not module:
        raise ConfigurationError(f"{type_name!r} must be the full name of a class, such as package.module.ClassName")
    try:
        kind = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise ConfigurationError(f"cannot import {module}: {error}; is it installed, or on PYTHONPATH?") from error
    except Exception as error:  # the user's own code runs here
        raise ConfigurationError(f"cannot import {module}: {type(error).__name__}: {error}") from error
    if not (inspect.isclass(kind) and issubclass(kind, nn.Module)):
        raise ConfigurationError(f"{name} of {module} must be a subclass of torch.nn.Module, it is {kind!r}")
    return kind


def check_module(type_name: str, options: Mapping[str, Any]) -> None:
    """Check what can be known before there are data: the class exists, and it takes these options."""
    try:
        kind = module_class(type_name)
        inspect.signature(kind).bind(features=1, classes={}, **options)
    except ConfigurationError as error:
        raise ValueError(str(error)) from error
    except TypeError as error:
        raise ValueError(
            f"{type_name} is called with features (their number), classes (labels by task) and the options "
            f"({', '.join(options) or 'none'}): {error}"
        ) from error
