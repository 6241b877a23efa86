"""Train on a table that is larger than memory: peak memory, rows per second, and the cost of a row.

    PYTHONPATH=src:. python benchmarks/larger_than_memory.py --rows 10000000

Makes a Parquet table of 100 columns with two tasks on the spot (with --sparse: of 2000, nearly all zeros), runs ``kedro
run`` on it in a copy of the project with few steps, and deletes both. The memory is what the process has to itself
(RssAnon): pages of files that are mapped into memory are the system's cache, and go when others need the place. The
cost of a row is that of an evaluation with both gradients, processor time of one thread: with kept activations on rows
in memory, and in blocks on the file of the run, by turns.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch
from tests.kedro_project import KedroProject
from torch import nn

from idbpd.datasets.tensors import MultiTaskDataset
from idbpd.mtl import Logistic, MultiTaskData, RobustMultiTask, SparseRows, Task, same_for_all, seeded_network
from idbpd.mtl import problem as oracle
from idbpd.mtl.row_blocks import row_blocks
from idbpd.mtl.worst_cases import Share

RUNNING = "INFO kedro.pipeline.node: Running node: "
COLUMNS, ROWS_OF_A_GROUP, HIDDEN = 100, 1 << 20, 100  # row groups as pandas makes them
WIDE, FILLED, ROWS_OF_A_WIDE_GROUP = 2000, 0.02, 1 << 16  # of a table of mostly zeros
BLOCK = {"type": "idbpd.datasets.TabularDataset", "tasks": {"first": "first", "second": "second"}}


def make_table(path: Path, rows: int, *, sparse: bool) -> None:
    """Columns at random, and two yes-or-no targets that some of them explain."""
    generator = np.random.default_rng(0)
    columns, in_a_group = (WIDE, ROWS_OF_A_WIDE_GROUP) if sparse else (COLUMNS, ROWS_OF_A_GROUP)
    rule = generator.standard_normal((columns, 2)).astype(np.float32) / (1 if sparse else 10)
    names = [f"c{at}" for at in range(columns)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("first", pa.bool_()), ("second", pa.bool_())])
    with pyarrow.parquet.ParquetWriter(path, schema, compression="NONE", use_dictionary=sparse) as writer:
        for begin in range(0, rows, in_a_group):
            shape = (min(in_a_group, rows - begin), columns)
            if sparse:
                features = np.zeros(shape, dtype=np.float32)
                places = generator.integers(0, features.size, round(FILLED * features.size))
                features.flat[places] = generator.integers(1, 10, len(places))
            else:
                features = generator.standard_normal(shape, dtype=np.float32)
            targets = features @ rule + generator.standard_normal((len(features), 2), dtype=np.float32) > 0
            arrays = [pa.array(column) for column in (*features.T, *targets.T)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=in_a_group)


class Stage(NamedTuple):
    """A node of the run: how long it took, with what it loads and saves, and the most memory that it had."""

    name: str
    seconds: float
    of_processor: float  # seconds; less than those of the clock where others use the machine too
    peak: float  # bytes that the process had to itself


def run(project: KedroProject, parameters: str, until: str | None) -> list[Stage]:
    """The stages of a run."""
    logging_file = project.path / "conf" / "logging.yml"
    silent, told = "level: CRITICAL", "level: INFO"  # of the nodes, which say when they begin
    logging_file.write_text(logging_file.read_text(encoding="utf-8").replace(silent, told), encoding="utf-8")
    command = [sys.executable, "-m", "kedro", "run", "--params", parameters, *(["--to-nodes", until] if until else [])]
    begin = begun = time.perf_counter()
    with subprocess.Popen(
        command, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        watch = Watch(process.pid)
        watch.start()
        assert process.stdout is not None
        printed: list[str] = []
        stages: list[Stage] = []
        name = "start, and reading the table"
        for line in process.stdout:
            now = time.perf_counter()
            if line.startswith(RUNNING):
                stages.append(Stage(name, now - begun, *watch.until_now()))
                name, begun = line.removeprefix(RUNNING).split(":")[0], now
            elif not line.startswith("INFO"):
                print(f"{now - begin:7.1f} s {watch.peak / 1e9:5.2f} GB | {line}", end="", flush=True)
                printed.append(line)
        stages.append(Stage(name, time.perf_counter() - begun, *watch.until_now()))
    if process.returncode:
        raise SystemExit("".join(printed[-30:]))
    return stages


class Watch(threading.Thread):
    """Watches the processor time of a process, and the memory that it has to itself (RssAnon)."""

    def __init__(self, process: int) -> None:
        """Nothing is known yet."""
        super().__init__(daemon=True)
        self._folder = Path(f"/proc/{process}")
        self._used, self._told, self.peak = 0.0, 0.0, 0.0

    def run(self) -> None:
        """Look ten times in a second, until the process has ended."""
        while True:
            try:
                lines = (self._folder / "status").read_text(encoding="utf-8").splitlines()
                fields = (self._folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                return
            self.peak = max(self.peak, *(1024.0 * int(line.split()[1]) for line in lines if "RssAnon" in line), 0.0)
            self._used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            time.sleep(0.1)

    def until_now(self) -> tuple[float, float]:
        """Processor time and peak since the last question."""
        found = self._used - self._told, self.peak
        self._told, self.peak = self._used, 0.0
        return found


def cost_per_row(train: MultiTaskData, in_memory: int) -> tuple[float, float, float]:
    """Microseconds per row of a step in memory and on the file, and of a bare product with the file."""
    torch.set_num_threads(1)
    features = train.features
    picked = features.of_rows(torch.arange(in_memory)) if isinstance(features, SparseRows) else features[:in_memory]
    some = MultiTaskData(
        picked if isinstance(picked, SparseRows) else picked.clone(),
        tuple(Task(t.name, t.labels, t.rows[:in_memory], t.targets[:in_memory], t.meaning) for t in train.tasks),
    )
    network = seeded_network(features.shape[1], HIDDEN, train.classes, seed=0)
    x = nn.utils.parameters_to_vector(network.parameters()).detach()
    most, steps = oracle.MOST_ACTIVATIONS, {}
    for name, data, kept in (("memory", some, 1 << 62), ("file", train, 0)):
        oracle.MOST_ACTIVATIONS = kept
        steps[name] = RobustMultiTask(
            network,
            data,
            objective=data.tasks[0].name,
            thresholds={data.tasks[1].name: 0.5},
            criteria=same_for_all(Logistic(), Share()),
        )
    oracle.MOST_ACTIVATIONS = most
    best = dict.fromkeys([*steps, "bare"], float("inf"))
    for _ in range(3):
        for name, problem in steps.items():
            rows = some if name == "memory" else train
            # As many steps in memory as take as long as one on the file: both see the same neighbours.
            times = max(1, len(features) // in_memory) if name == "memory" else 1
            begin = time.process_time()
            for _ in range(times):
                problem.differentiate(problem.evaluate(x.clone(), problem.start(x)))
            best[name] = min(best[name], (time.process_time() - begin) / times / len(rows.features))
        begin = time.process_time()
        blocks = row_blocks(features, None, HIDDEN)
        with torch.no_grad():
            weight = blocks.weight(network.trunk.weight)
            for _, block in blocks.blocks(torch.float32):
                block.forward(weight, network.trunk.bias)
        best["bare"] = min(best["bare"], (time.process_time() - begin) / len(features))
    return 1e6 * best["memory"], 1e6 * best["file"], 1e6 * best["bare"]


def main() -> None:
    """Make the table, run, measure, print, delete."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--sparse", action="store_true", help=f"{WIDE} columns, {FILLED:.0%} of them not zero")
    arguments.add_argument("--steps", type=int, default=20)
    arguments.add_argument("--in-memory", type=float, default=None, help="bytes; the default of the data set")
    arguments.add_argument("--folder", default=None, help="for the table and the project; a temporary one")
    arguments.add_argument("--until", default=None, help="the last node; all of them")
    given = arguments.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="larger-than-memory-", dir=given.folder))
    try:
        table = folder / "table.parquet"
        begin = time.perf_counter()
        make_table(table, given.rows, sparse=given.sparse)
        print(f"made {given.rows} rows, {table.stat().st_size / 1e9:.2f} GB in {time.perf_counter() - begin:.0f} s")
        project = KedroProject.copied_to(folder / "project")
        limit = {} if given.in_memory is None else {"in_memory": given.in_memory}
        project.configure("sources.yml", {"large": {**BLOCK, "filepath": str(table), **limit}})
        few = f"calibration.max_steps={given.steps},training.max_steps={given.steps},comparison.sweep=[]"
        settings = f"dataset=large,problem.weight_decay=1e-4,calibration.reserve=0,compute.threads=1,{few}"
        stages = run(project, settings, given.until)
        print("| stage | seconds | of one processor | rows per second of it | peak memory |\n|---|---|---|---|---|")
        for stage in stages:
            speed = f"{given.rows / stage.of_processor:.3g}" if stage.of_processor >= 1 else ""
            name, peak = stage.name.replace("_", " "), f"{stage.peak / 1e9:.2f} GB"
            print(f"| {name} | {stage.seconds:.1f} | {stage.of_processor:.1f} | {speed} | {peak} |")
        outcome = json.loads((project.data / "07_model_output/large/outcome.json").read_text(encoding="utf-8"))
        train = MultiTaskDataset(filepath=str(project.data / "05_model_input/large/train.safetensors")).load()
        assert isinstance(train, MultiTaskData)
        memory, file, bare = cost_per_row(train, min(500_000, len(train.features)))
        passes = outcome["evaluations"] * len(train.features) / outcome["seconds"]
        whole = sum(stage.seconds for stage in stages)
        print(
            f"rows {given.rows}, columns {train.features.shape[1]}: run {whole:.0f} s, "
            f"peak memory {max(stage.peak for stage in stages) / 1e9:.2f} GB\n"
            f"training: {outcome['evaluations']} evaluations in {outcome['seconds']:.1f} s, {passes:.3g} rows/s\n"
            f"a bare product with the file: {1e6 / bare:.3g} rows/s\n"
            f"step per row: {memory:.3f} us in memory, {file:.3f} us on the file, ratio {file / memory:.2f}"
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
