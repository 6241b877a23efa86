"""Read lines ``name==version``, and write a lock file with the SHA-256 of every published file of each version.

With all of them, and not only those of this machine's files, the lock is good for other systems too. ``make lock`` runs
this with a Python that has pip. torch is left out: CONTRIBUTING.md says why.
"""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from urllib.parse import unquote
from urllib.request import Request, urlopen

from pip._internal.models.index import PyPI

INDEX = os.environ.get("PIP_INDEX_URL", PyPI.simple_url).rstrip("/")
LEFT_OUT = {"torch"}
HEAD = (
    "# Made by `make lock`. Install with: pip install --require-hashes --no-deps -r requirements.lock\n"
    "# torch is not here, because its builds differ: pyproject.toml has its version.\n"
)
_LINK = re.compile(r'href="[^"#]*/(?P<file>[^"#/]+)#sha256=(?P<hash>[0-9a-f]{64})')
# Wheels for other versions of Python than the one that the project needs.
_OTHER_PYTHON = re.compile(r"-(cp(?!311-)\d+|pp\d+)-(?!abi3)")


def normalised(text: str) -> str:
    """A name as an index compares it."""
    return re.sub(r"[-_.]+", "-", text).lower()


def hashes(pin: str) -> list[str]:
    """The SHA-256 of every file of a version."""
    name, version = pin.split("==")
    request = Request(f"{INDEX}/{normalised(name)}/", headers={"Accept": "text/html"})
    with urlopen(request, timeout=60) as answer:
        page = unescape(answer.read().decode())
    begin = re.compile(rf"{re.escape(normalised(f'{name}-{version}'))}(-|$)")
    found = {
        link["hash"]
        for link in _LINK.finditer(page)
        if begin.match(_stem(unquote(link["file"]))) and not _OTHER_PYTHON.search(link["file"])
    }
    if not found:
        raise SystemExit(f"the index has no file with a SHA-256 for {pin}")
    return sorted(found)


def _stem(file: str) -> str:
    return normalised(re.sub(r"\.(whl|tar\.gz|tar\.bz2|zip)$", "", file))


def main() -> None:
    """Write the lock file to standard output."""
    pins = [line for line in sys.stdin.read().split() if line.partition("==")[0] not in LEFT_OUT]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(hashes, pins))
    sys.stdout.write(HEAD)
    for pin, values in zip(pins, found, strict=True):
        sys.stdout.write(" \\\n".join([pin, *(f"    --hash=sha256:{value}" for value in values)]) + "\n")


if __name__ == "__main__":
    main()
