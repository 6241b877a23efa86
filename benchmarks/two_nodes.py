"""Two nodes for real: two agents in two network namespaces, whose link is cut on the way. Needs root and `ip`.

    PYTHONPATH=src:. python benchmarks/two_nodes.py

The first node is a run that solves a small problem; the second is a user's torchrun. It prints whether the result has
the same bytes in two runs, how long a cut link takes to end the run and with which line, and what a node with other
code is told. Then the second node has a full disk: before it starts, while it computes, and where a copy of the run's
folder is to be. A network namespace has mounts of its own, so its disk is a small tmpfs that the first does not see.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

FIRST, SECOND = "10.77.0.1", "10.77.0.2"
ENDPOINT = f"{FIRST}:29471"
TIMEOUT = 10
SPACES = {"idbpd-a": ("idbpd-va", FIRST), "idbpd-b": ("idbpd-vb", SECOND)}
SOURCE = Path(__file__).parents[1]
# What the second node does before it starts. {folder} is the run's folder, which it keeps in view.
DISK = (
    "mount --bind {folder} /mnt; for d in /tmp /var/tmp; do mount -t tmpfs -o size=1m none $d; done; "
    "mkdir -p {folder}; mount --bind /mnt {folder}; cd /tmp; "
)
FILL = "for d in /tmp /var/tmp; do cat /dev/zero > $d/full; done"
FULL = {
    "before it starts": DISK + FILL,
    "while it computes": DISK + "{{ sleep 12; " + FILL + "; }} &",
    # As by a program that keeps the folders of two nodes alike.
    "its copy of the folder cut off": "mount --bind {folder} /mnt; mount -t tmpfs -o size=4k none {folder}; "
    "while sleep 0.05; do cp -r /mnt/. {folder}/; done &",
}


def ip(*arguments: str, check: bool = True) -> None:
    """Call `ip`."""
    subprocess.run(["ip", *arguments], check=check, capture_output=not check)


def start(space: str, source: Path, *command: str, before: str = "") -> "subprocess.Popen[str]":
    """A process on a node, after a line of shell there."""
    environment = {**os.environ, "PYTHONPATH": f"{source / 'src'}:{SOURCE}", "GLOO_SOCKET_IFNAME": SPACES[space][0]}
    whole = ["ip", "netns", "exec", space, "sh", "-c", f'{{ {before or ":"}\n}} 2>/dev/null\nexec "$@"', "sh"]
    return subprocess.Popen(
        [*whole, sys.executable, *command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def run(
    folder: Path, steps: int, source: Path = SOURCE, cut_after: float | None = None, before: str = ""
) -> tuple[str, float]:
    """The last line of the run, and the seconds since the cut, or since the start."""
    first = start("idbpd-a", SOURCE, __file__, "solve", str(folder), str(steps))
    meeting = ("--rdzv-backend", "c10d", "--rdzv-endpoint", ENDPOINT, "--rdzv-id", "idbpd", "--local-addr", SECOND)
    nodes = ("--nnodes", "2", "--nproc-per-node", "1", "--max-restarts", "3", "--rdzv-conf", f"join_timeout={TIMEOUT}")
    rank = ("-m", "idbpd.experiment.ranks", "--timeout", str(TIMEOUT))
    second = start("idbpd-b", source, "-m", "torch.distributed.run", *nodes, *meeting, *rank, before=before)
    begin = time.monotonic()
    if cut_after is not None:
        time.sleep(cut_after)
        ip("-n", "idbpd-b", "link", "set", "idbpd-vb", "down")
        begin = time.monotonic()
    output, _ = first.communicate(timeout=300)
    seconds = time.monotonic() - begin
    if cut_after is not None:
        ip("-n", "idbpd-b", "link", "set", "idbpd-vb", "up")
    with suppress(ProcessLookupError):
        os.killpg(second.pid, signal.SIGTERM)
    second.communicate(timeout=60)
    return output.strip().splitlines()[-1], seconds


def solve_here(folder: str, steps: int) -> None:
    """The run itself, in the namespace of the first node."""
    import torch  # noqa: PLC0415 - the script around it needs none
    from tests.pipelines.small_tasks import COMPUTE, EXPERIMENT, small_tasks  # noqa: PLC0415

    from idbpd.errors import RanksError  # noqa: PLC0415
    from idbpd.experiment.compute_parameters import DistributedParameters  # noqa: PLC0415
    from idbpd.experiment.ranks.team import dismiss  # noqa: PLC0415
    from idbpd.experiment.records.provenance import tensors_sha256  # noqa: PLC0415
    from idbpd.optim import solve  # noqa: PLC0415

    torch.manual_seed(7)
    data = small_tasks(2)
    two = DistributedParameters(nodes=2, endpoint=ENDPOINT, folder=folder, timeout=TIMEOUT, restarts=3)
    experiment = type(EXPERIMENT)(**{**vars(EXPERIMENT), "compute": COMPUTE.model_copy(update={"distributed": two})})
    built = experiment.build(data, "first", {"second": 0.9})
    try:
        for _ in range(max(1, steps // 25)):
            solution = solve(built.oracle, built.initial_weights, max_steps=25, tolerance=1e-12)
        assert isinstance(solution.x, dict)
        print("solved:", tensors_sha256(solution.x)[:16], flush=True)
    except RanksError as error:
        print("error:", error, flush=True)
    dismiss()


def main() -> None:
    """Make the nodes, try, and remove them."""
    for space in SPACES:
        ip("netns", "del", space, check=False)
    (a, (va, _)), (b, (vb, _)) = SPACES.items()
    ip("netns", "add", a)
    ip("netns", "add", b)
    ip("link", "add", va, "netns", a, "type", "veth", "peer", "name", vb, "netns", b)
    for space, (link, address) in SPACES.items():
        ip("-n", space, "addr", "add", f"{address}/24", "dev", link)
        for one in (link, "lo"):
            ip("-n", space, "link", "set", one, "up")
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for attempt in (1, 2):
                line, seconds = run(folder, 25)
                print(f"two nodes, run {attempt}: {line} ({seconds:.1f} s)")
            line, seconds = run(folder, 10**7, cut_after=15.0)
            print(f"link cut: after {seconds:.1f} s: {line}")
            other = folder / "other"
            shutil.copytree(SOURCE / "src", other / "src")
            with (other / "src/idbpd/mtl/chance.py").open("a") as file:
                file.write("# another line\n")
            line, seconds = run(folder, 25, source=other)
            print(f"other code: {line} ({seconds:.1f} s)")
            for when, before in FULL.items():
                shared = Path(tempfile.mkdtemp(dir=folder))
                line, seconds = run(shared, 400, before=before.format(folder=shared))
                left = sum(path.is_file() for path in shared.rglob("*"))
                print(f"full disk of the second, {when}: {line} ({seconds:.1f} s, {left} files left in the folder)")
    finally:
        for space in SPACES:
            ip("netns", "del", space, check=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["solve"]:
        solve_here(sys.argv[2], int(sys.argv[3]))
    else:
        main()
