"""Which program this is: its source code, and the libraries it runs with."""

import hashlib
from importlib.metadata import distributions
from pathlib import Path

LOCK_FILE = "requirements.lock"


def code_sha256(package: Path = Path(__file__).parent) -> str:
    """SHA-256 of the package's Python files: changed by a change of the code, not by a commit that leaves it alone."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
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
