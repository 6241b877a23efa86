"""A real browser: Chromium, driven by the WebDriver protocol, which is plain JSON over HTTP."""

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.error import URLError
from urllib.request import Request, urlopen

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
ABSENT = "there is no Chromium with its chromedriver here; on Debian: apt-get install chromium chromium-driver"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--hide-scrollbars", "--force-device-scale-factor=1"),
)
SECONDS = 30.0


class Browser:
    """One window of a browser."""

    def __init__(self, address: str) -> None:
        """Take the address of the window's session."""
        self._address = address

    def command(self, path: str, **body: Any) -> Any:
        """Send a command of the protocol; its answer."""
        return _answer(f"{self._address}/{path}", body)

    def devtools(self, command: str, **options: Any) -> Any:
        """Send a command of Chromium's own protocol."""
        return self.command("goog/cdp/execute", cmd=command, params=options)

    def open(self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Open a file from disk in a window of this size, on a light or a dark screen."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.command("se/log", type="browser")  # what other pages said
        self.command("url", url=page.as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript in the page; what it returns."""
        return self.command("execute/sync", script=script, args=list(arguments))

    def wait_for(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript that calls its last argument when it is done; what it is called with."""
        return self.command("execute/async", script=script, args=list(arguments))

    def wait_until(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript again and again, until what it returns counts as true; that value."""
        end = time.monotonic() + SECONDS
        while not (found := self.run(f"return {script}", *arguments)):
            assert time.monotonic() < end, f"not seen: {script} {arguments}; the page says: {self.words()}"
            time.sleep(0.05)
        return found

    def words(self) -> str:
        """All text that the page shows."""
        return str(self.run("return document.body.innerText"))

    def said(self) -> list[str]:
        """Errors and warnings that the page wrote to the console, and failed loads."""
        return [str(entry["message"]) for entry in self.command("se/log", type="browser")]

    def picture(self, *, whole: bool = True) -> bytes:
        """The page as a PNG, below the edge of the window too."""
        found = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(found["data"])

    def printed(self) -> bytes:
        """The page as a PDF of A4 pages."""
        return base64.b64decode(self.command("print", page={"width": 21.0, "height": 29.7}, background=True))


@contextmanager
def started_browser() -> Iterator[Browser]:
    """A browser with a profile of its own, gone at the end."""
    assert BROWSER is not None
    assert DRIVER is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = {"binary": BROWSER, "args": [*FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        process = subprocess.Popen(
            [DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=profile
        )
        try:
            root = f"http://127.0.0.1:{port}"
            _wait_until_ready(f"{root}/status")
            session = _answer(f"{root}/session", {"capabilities": {"alwaysMatch": wanted}})
            address = f"{root}/session/{session['sessionId']}"
            yield Browser(address)
            _answer(address, None, "DELETE")
        finally:
            process.terminate()
            process.wait(SECONDS)


def _wait_until_ready(address: str) -> None:
    end = time.monotonic() + SECONDS
    while True:
        try:
            _answer(address, None, "GET")
        except (URLError, ConnectionError):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def _answer(address: str, body: Any, method: str = "POST") -> Any:
    content = None if body is None else json.dumps(body).encode()
    request = Request(address, content, {"Content-Type": "application/json"}, method=method)
    with urlopen(request, timeout=SECONDS) as answer:
        return cast("dict[str, Any]", json.load(answer))["value"]
