"""The lock file: every version has hashes, and it agrees with what the project asks for."""

import re
import tomllib

from tests.kedro_project import PROJECT

LOCK = (PROJECT / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", " ")
PINS = {}
for line in LOCK.splitlines():
    if not line.startswith("#"):
        pin, *hashes = line.split()
        PINS[pin.partition("==")[0]] = (pin.partition("==")[2], hashes)


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_version_has_hashes_that_pip_checks() -> None:
    assert len(PINS) > 100
    for name, (version, hashes) in PINS.items():
        assert version, name
        assert hashes, name
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", value) for value in hashes), name


def test_it_has_everything_that_the_project_asks_for_but_torch() -> None:
    """torch has many builds of one version; it is installed by that version alone."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    locked = {_normalised(name): version for name, (version, _) in PINS.items()}
    assert "torch" not in locked
    assert "torch==2.13.0" in wanted
    for requirement in wanted:
        name, _, version = requirement.partition("==")
        name = _normalised(re.split(r"[<>=\[]", name)[0])
        assert name in {*locked, "torch"}, requirement
        assert not version or name == "torch" or locked[name] == version


def test_the_makefile_and_the_readme_install_with_hashes() -> None:
    command = "--require-hashes --no-deps -r requirements.lock"
    for file in ("Makefile", "README.md"):
        assert command in " ".join((PROJECT / file).read_text(encoding="utf-8").split()), file
