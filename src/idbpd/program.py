"""Which program this is: its source code, and the libraries it runs with."""

import hashlib
from collections.abc import Iterable
from importlib.metadata import distributions
from pathlib import Path

LOCK_FILE = "requirements.lock"
PACKAGE = Path(__file__).parent


def code_sha256(package: Path = PACKAGE, parts: Iterable[str] = (".",)) -> str:
    """SHA-256 of the Python files of a package, or of some of its files and folders, with all folders inside them.

    It changes when the code changes, and not with a commit that leaves the code alone. A part that is not there, or has
    no code, is an error: a digest that silently left it out would take results of other code for its own.
    """
    digest = hashlib.sha256()
    for part in parts:
        place = package / part
        files = [place] if place.is_file() else sorted(place.rglob("*.py"))
        if not files:
            raise FileNotFoundError(f"{place} is listed as code to digest, but there is no Python file")
        for path in files:
            digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def installed_packages() -> str:
    """The environment, a line ``name==version`` for each package.

    Not by ``pip freeze``, which shows the address that a package came from, with what stands in it.
    """
    found = {distribution.name.lower(): distribution.version for distribution in distributions()}
    return "".join(f"{name}=={number}\n" for name, number in sorted(found.items()))


def lock_sha256(project: Path) -> str | None:
    """SHA-256 of the lock file of a project; None where there is none."""
    path = project / LOCK_FILE
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
