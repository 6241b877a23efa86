"""Retrain many data sets as tasks of a Dask scheduler, one `deploy/retrain` each. For cron: `deploy/retrain_all`.

    deploy/retrain_all customers stores suppliers                                    # two workers on this machine
    deploy/retrain_all --scheduler tcp://first-node:8786 customers stores suppliers  # the workers of a scheduler

Needs Dask: pip install 'idbpd[cluster]'. All workers see the project's folder. A data set whose worker dies goes to
another worker, where it continues from its checkpoint; one that has been retrained is not retrained again. It prints a
line per data set, and returns 1 if one failed, else 3 if one was rejected, else 0.
"""

import argparse
import ctypes
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from distributed import Client, LocalCluster, as_completed

PROJECT = Path(__file__).resolve().parents[2]
REJECTED = 3
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


class Ended(NamedTuple):
    """How a retraining ended."""

    exit_code: int
    last_line: str


def retrain(project: str, dataset: str, params: str) -> Ended:
    """What a worker does: the command, which ends with the worker, so that another one can go on with it."""
    command = [f"{project}/deploy/retrain", "--params", ",".join(["dataset=" + dataset, *([params] if params else [])])]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, preexec_fn=_die_with_parent
    )
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return Ended(done.returncode, lines[-1] if lines else "")


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)


def main() -> int:
    """Submit all, and print each as it ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", help="names of data sets")
    parser.add_argument("--scheduler", help="its address; without it, workers on this machine are started")
    parser.add_argument("--workers", type=int, default=2, help="how many, without a scheduler (default: 2)")
    parser.add_argument("--params", default="", help="further parameters of every retraining, as for kedro run")
    options = parser.parse_args()
    if len({*options.datasets}) < len(options.datasets):
        parser.error(f"a data set is named twice: {' '.join(options.datasets)}")
    with ExitStack() as stack:
        where: str | LocalCluster | None = options.scheduler
        if where is None:
            where = stack.enter_context(
                LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None)
            )
        try:
            client = stack.enter_context(Client(where, timeout=10))
        except OSError:
            print(f"--scheduler {where}: no scheduler answers there; start one with `dask scheduler`", file=sys.stderr)
            return 1
        futures = {
            client.submit(retrain, str(PROJECT), name, options.params, key=f"retrain-{name}", pure=False): name
            for name in options.datasets
        }
        codes = []
        for future in as_completed(futures):
            error = future.exception()
            ended = future.result() if error is None else Ended(1, f"its workers died: {error}")
            codes.append(ended.exit_code)
            print(f"{futures[future]}: exit code {ended.exit_code}: {ended.last_line}", flush=True)
    if any(code not in (0, REJECTED) for code in codes):
        return 1
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
