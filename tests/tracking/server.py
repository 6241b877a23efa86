"""A real tracking server on this machine, which a test can take away and bring back."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """``mlflow server`` on an SQLite file, at the same address whenever it is there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.uri = f"http://127.0.0.1:{self._port}"
        self.database = f"sqlite:///{folder / 'server.db'}"

    def start(self) -> None:
        self._folder.mkdir(exist_ok=True)
        options = ["--host", "127.0.0.1", "--port", str(self._port), "--workers", "1"]
        stores = ["--backend-store-uri", self.database, "--artifacts-destination", str(self._folder / "artifacts")]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mlflow", "server", *options, *stores],
                cwd=self._folder,
                env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for(f"{self.uri}/health", self._process)

    def stop(self) -> None:
        """Kill the server and all its workers."""
        if self._process is not None:
            os.killpg(self._process.pid, 9)
            self._process.wait()
            self._process = None


def wait_for(address: str, process: "subprocess.Popen[bytes]", seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(address, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"nothing answers at {address} (exit code {process.poll()})")
