"""That an evaluation needs little memory beside the data: measured in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Peak resident memory over what the imports, and one evaluation of something tiny, took.
SCRIPT = """
import json, sys, torch
from idbpd.mtl import CrossEntropy, MultiTaskData, Penalty, RobustMultiTask, Task, same_for_all, seeded_network

def evaluate(samples, features, regularisation):
    table = torch.empty(samples, features).uniform_()
    def task(name, rows, classes):
        targets = torch.zeros(len(rows), classes)
        targets[torch.arange(len(rows)), torch.arange(len(rows)) % classes] = 1
        return Task(name, tuple(map(str, range(classes))), rows, targets)
    tasks = (task("p", torch.arange(0, samples * 3 // 4), 5), task("c", torch.arange(samples // 4, samples), 5))
    data = MultiTaskData(table, tasks)
    network = seeded_network(features, 100, data.classes, seed=0)
    criteria = same_for_all(CrossEntropy(), Penalty(regularisation))
    problem = RobustMultiTask(network, data, objective="p", thresholds={"c": 1.0}, criteria=criteria)
    x = torch.nn.utils.parameters_to_vector(network.parameters()).detach()
    for _ in range(2):
        problem.differentiate(problem.evaluate(x.clone(), problem.start(x)))
    return table.nbytes

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

torch.set_num_threads(1)
evaluate(2000, 20, 0.1)
before = peak()
data = evaluate(20_000, 1296, float(sys.argv[1]))
print(json.dumps((peak() - before) / data))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory as Linux tells it")
@pytest.mark.parametrize("regularisation", ["1e-3", "10"], ids=["few samples have weight", "all samples have weight"])
def test_data_and_all_else_take_at_most_one_and_a_half_times_the_data(regularisation: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, regularisation], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    ratio = json.loads(done.stdout)
    assert 1.0 <= ratio <= 1.5  # below one it would have measured nothing
