"""The pictures of docs/figures that are screens of a browser: the report of a run, and the pipelines in Kedro-Viz.

    kedro run && kedro viz build
    PYTHONPATH=src:. python benchmarks/pictures.py

Needs a Chromium with its chromedriver, as tests/browser does. Writes docs/figures/report.png and kedro_viz.png.
"""

import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from PIL import Image
from tests.browser.driver import Browser, started_browser

PROJECT = Path(__file__).resolve().parents[1]
FIGURES = PROJECT / "docs" / "figures"
REPORT = PROJECT / "data" / "08_reporting" / "multi_digits" / "report.html"
PIPELINES = PROJECT / "build"
# Light, and nothing but the picture.
TIDY = """
for (const name of ["Change to light theme", "Hide menu", "Turn minimap off"])
  document.querySelector(`[aria-label='${name}']`)?.click();
for (const one of document.querySelectorAll("[class*=feature-hints], [class*=feedback], .pipeline-global-toolbar"))
  one.remove();
"""
TOOLBAR = 220  # its width in the picture
SECONDS_TO_DRAW = 8
COLOURS, RARE_TOO = 96, Image.Quantize.MAXCOVERAGE  # a thin red line has few points


def main() -> None:
    """Take both."""
    with started_browser() as browser:
        browser.open(REPORT, height=885)
        save(browser, "report.png")
        with served(PIPELINES) as address:
            size = {"width": 1150, "height": 1150, "deviceScaleFactor": 1.6, "mobile": False}
            browser.devtools("Emulation.setDeviceMetricsOverride", **size)
            browser.command("url", url=f"{address}/?pid=__default__")
            time.sleep(SECONDS_TO_DRAW)
            browser.run(TIDY)
            time.sleep(SECONDS_TO_DRAW)
            save(browser, "kedro_viz.png", left=TOOLBAR)


def save(browser: Browser, name: str, left: int = 0) -> None:
    """Keep what the window shows right of a column, in few colours, which makes a small file."""
    picture = Image.open(io.BytesIO(browser.picture(whole=False))).convert("RGB")
    picture.crop((left, 0, *picture.size)).quantize(COLOURS, method=RARE_TOO).save(FIGURES / name, optimize=True)
    print(f"{name}: {(FIGURES / name).stat().st_size} bytes")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder over HTTP on this machine, until the end of the block; its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing of single requests."""


if __name__ == "__main__":
    main()
