"""A benchmark on a real Dask cluster whose workers are killed on the way: is anything lost, or run twice?

    PYTHONPATH=src:. python benchmarks/killed_workers.py [KILLS]

Needs the extra: pip install 'idbpd[cluster]'. Three workers with one thread each, on this machine. A small benchmark
runs on them (`benchmark.scheduler`), and workers are killed with `kill -9` while they compute. It counts how often each
job began and ended, compares with the results that were kept, and runs the benchmark again: nothing may be left to do.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster, WorkerPlugin
from tests.kedro_project import KedroProject

WORKERS = 3
SMALL = (
    "benchmark.datasets=multi_digits,benchmark.methods=idbpd+gdma_rho2,benchmark.settings=product,benchmark.seeds=0+1,"
    "benchmark.seconds=4,benchmark.tuning_seconds=1,benchmark.calibration_steps=40"
)


class Journal(WorkerPlugin):  # type: ignore[misc] # Dask has no types
    """Writes down what a worker begins and what it has ended: a line in a file, which outlives the worker."""

    def __init__(self, folder: str) -> None:
        """Each worker process has a file of its own."""
        self._folder = folder

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:  # noqa: ARG002
        """What Dask calls for every task."""
        if str(key).startswith("idbpd-") and finish in ("executing", "memory"):
            with (Path(self._folder) / f"{os.getpid()}.txt").open("a") as file:
                file.write(f"{finish} {key}\n")


def journal(folder: Path) -> Counter[tuple[str, str]]:
    """How often each job was begun and ended."""
    lines = [line.split() for file in folder.glob("*.txt") for line in file.read_text().splitlines()]
    return Counter((what, key) for what, key in lines)


def shown(process: "subprocess.Popen[str]") -> None:
    """Pass on what it prints."""
    assert process.stdout is not None
    for line in process.stdout:
        print("   |", line, end="", flush=True)


def main() -> None:
    """Run, kill, count."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    random.seed(0)
    with tempfile.TemporaryDirectory(prefix="killed-workers-") as name, ExitStack() as stack:
        folder = Path(name)
        (folder / "journal").mkdir()
        project = KedroProject.copied_to(folder / "project")
        sys.path.insert(0, str(project.path / "src"))  # workers have the path of this process, and so the same code
        cluster = stack.enter_context(LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0"))
        client = stack.enter_context(Client(cluster))
        client.register_plugin(Journal(str(folder / "journal")))
        parameters = f"{SMALL},benchmark.scheduler={cluster.scheduler_address}"
        command = ("run", "--pipeline", "benchmark", "--params", parameters)
        begin = time.perf_counter()
        killed: list[int] = []
        with project.started(*command) as process:
            reader = threading.Thread(target=shown, args=(process,), daemon=True)
            reader.start()
            while process.poll() is None:
                time.sleep(3 + 4 * random.random())
                busy = [address for address, keys in client.processing().items() if keys]
                if len(killed) < kills and busy and process.poll() is None:
                    address = random.choice(busy)
                    pid = client.run(os.getpid, workers=[address])[address]
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    print(f"killed worker {pid} after {time.perf_counter() - begin:.0f} s", flush=True)
            reader.join(10)
        print(f"the benchmark ended with {process.returncode} after {time.perf_counter() - begin:.0f} s")
        found = journal(folder / "journal")
        keys = {key for _, key in found}
        ended = Counter({key: found["memory", key] for key in keys})
        begun = Counter({key: found["executing", key] for key in keys})
        print(
            f"{len(keys)} jobs: {sum(ended.values())} ended ({sum(count != 1 for count in ended.values())} not exactly "
            f"once), {sum(begun.values())} begun, {sum(begun.values()) - len(keys)} of them again after a kill"
        )
        with project.started(*command) as again:
            shown(again)
            again.wait()
        more = journal(folder / "journal") - found
        print(f"the same command again ended with {again.returncode}, and ran {len(more)} jobs")


if __name__ == "__main__":
    main()
