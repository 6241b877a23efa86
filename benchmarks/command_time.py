"""How long commands take, and what a run on a small table spends its time on.

python benchmarks/command_time.py [--repeat 3] [--against OTHER_COPY_OF_THE_PROJECT]

Every command is timed in a process of its own; with ``--against`` the two copies take turns, so that a busy machine is
equally unfair to both. The parts of a run are samples of its main thread, 200 in a second.
"""

import argparse
import collections
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

PROJECT = Path(__file__).resolve().parents[1]
ROWS = 1500
COMMANDS = {
    "kedro info": ["info"],
    "refused name": ["run", "--params", "training.max_setps=500"],
    "refused data set": ["run", "--params", "dataset=nothing"],
    "refused value": ["run", "--params", "training.max_steps=many"],
}
RUN = ["run", "--params", "dataset=small"]
SOURCE = """small:
  type: idbpd.datasets.TabularDataset
  filepath: small.csv
  tasks: {churn: churned, upsell: upsold}
"""
# The innermost frame of these files decides; importing anything counts as importing.
PARTS = {
    "importlib._bootstrap": "imports",
    "/idbpd/optim/solve.py": "solver",
    "/idbpd/optim/": "solver",
    "/matplotlib/": "figures",
    "/mlflow/": "MLflow",
    "/sqlalchemy/": "MLflow",
    "/alembic/": "MLflow",
    "/idbpd/tracking/": "MLflow",
}
OUTERMOST_FIRST = ("imports", "solver", "MLflow", "figures")


def main() -> None:
    """Time both copies, and print the medians."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--against", type=Path, help="another copy of the project")
    arguments.add_argument("--sample", type=Path, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.sample:
        sample(given.sample)
        return
    programs = {"this": PROJECT} | ({"other": given.against.resolve()} if given.against else {})
    with tempfile.TemporaryDirectory() as temporary:
        copies = {name: copied(path, Path(temporary) / name) for name, path in programs.items()}
        for copy in copies.values():
            timed(copy, RUN)  # compiles
            shutil.rmtree(copy / "data")
        seconds: dict[str, dict[str, list[float]]] = {name: collections.defaultdict(list) for name in copies}
        shares: dict[str, list[dict[str, float]]] = {name: [] for name in copies}
        for _ in range(given.repeat):
            for command, words in COMMANDS.items():
                for name, copy in copies.items():
                    seconds[name][command].append(timed(copy, words))
            for title in ("first run", "second run"):
                for name, copy in copies.items():
                    for folder in (copy / "data").glob("0[1-8]*"):
                        shutil.rmtree(folder)  # the store of runs stays, the results are made again
                    seconds[name][title].append(timed(copy, RUN))
            for name, copy in copies.items():
                shutil.rmtree(copy / "data")
                shares[name].append(parts_of_a_run(copy))
                shutil.rmtree(copy / "data")
    for name in copies:
        print(
            f"{name}:", ", ".join(f"{title} {statistics.median(all_):.2f} s" for title, all_ in seconds[name].items())
        )
        parts = {part: statistics.median(run.get(part, 0.0) for run in shares[name]) for part in shares[name][0]}
        print("  first run:", ", ".join(f"{part} {share:.2f} s" for part, share in parts.items()))


def copied(program: Path, to: Path) -> Path:
    """A copy of the project with a small table in it."""
    for folder in ("src", "conf/base"):
        shutil.copytree(program / folder, to / folder)
    for file in ("pyproject.toml", "conf/logging.yml", ".telemetry"):
        shutil.copy(program / file, to / file)
    (to / "conf" / "local").mkdir()
    (to / "conf" / "local" / "sources.yml").write_text(SOURCE)
    random = np.random.default_rng(0)
    features = random.normal(size=(ROWS, 8))
    noise = random.logistic(size=(ROWS, 2))
    churned = features[:, 0] + 0.5 * features[:, 1] * features[:, 2] + noise[:, 0] > 0
    upsold = features[:, 1] - features[:, 3] + noise[:, 1] > 0
    lines = [",".join([*(f"x{number}" for number in range(8)), "churned", "upsold"])]
    for row, first, second in zip(features, churned, upsold, strict=True):
        lines.append(",".join([*(f"{value:.4f}" for value in row), str(int(first)), str(int(second))]))
    (to / "small.csv").write_text("\n".join(lines) + "\n")
    return to


def started(copy: Path, *words: str) -> str:
    """What a command of a copy printed."""
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "DO_NOT_TRACK": "true"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False).stdout


def timed(copy: Path, words: list[str]) -> float:
    """The seconds that a command takes."""
    begin = time.perf_counter()
    started(copy, "-m", "kedro", *words)
    return time.perf_counter() - begin


def parts_of_a_run(copy: Path) -> dict[str, float]:
    """The seconds that a run spends on each part."""
    counted = copy / "samples.json"
    started(copy, str(Path(__file__).resolve()), "--sample", str(counted))
    parts: dict[str, float] = json.loads(counted.read_text())
    return parts


def sample(to: Path) -> None:
    """Run Kedro in this process, look at its stack again and again, and write how often each part was at work."""
    counts: collections.Counter[str] = collections.Counter()
    over = threading.Event()
    main_thread, begin = threading.get_ident(), time.perf_counter()

    def look() -> None:
        while not over.wait(0.005):
            counts[part_of(main_thread)] += 1

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    sys.argv = ["kedro", *RUN]
    try:
        from kedro.framework.cli.cli import main as kedro  # noqa: PLC0415 - importing it is a part of what is measured

        kedro()
    except SystemExit:
        pass
    over.set()
    watcher.join()
    second = (time.perf_counter() - begin) / counts.total()
    to.write_text(json.dumps({part: counts[part] * second for part in (*OUTERMOST_FIRST, "other")}))


def part_of(thread: int) -> str:
    """What a thread is doing now."""
    frame = sys._current_frames().get(thread)
    found = set()
    while frame is not None:
        file = frame.f_code.co_filename
        found |= {part for sign, part in PARTS.items() if sign in file}
        frame = frame.f_back
    return next((part for part in OUTERMOST_FIRST if part in found), "other")


if __name__ == "__main__":
    main()
