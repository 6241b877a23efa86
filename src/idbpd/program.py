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
        digest.update(path.read_bytes())
    return digest.hexdigest()


def libraries() -> dict[str, str]:
    """The version of every installed distribution, by its name in lower case."""
    return dict(sorted((item.metadata["Name"].lower(), item.version) for item in distributions()))


def lock_sha256(project: Path) -> str:
    """SHA-256 of the lock file of a project; of the installed versions where there is none."""
    path = project / LOCK_FILE
    content = path.read_bytes() if path.is_file() else repr(libraries()).encode()
    return hashlib.sha256(content).hexdigest()
