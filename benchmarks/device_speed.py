"""What an accelerator makes of the solver: one run on a machine with a GPU prints the tables for it.

    PYTHONPATH=src:. python -m benchmarks.device_speed                 # cuda, or another device with --device
    PYTHONPATH=src:. python -m benchmarks.device_speed --compile       # torch.compile and CUDA graphs, too
    PYTHONPATH=src:. python -m benchmarks.device_speed --device cpu --samples 1000 3000 --widths 10

Made-up data (`benchmarks.growth`). Three tables: what an evaluation with both gradients costs on the device and on this
machine's processor; how exact float32 is, and what TF32 would gain and cost; and how long a solve takes, with how many
waits for the device. The ways take turns, the best time counts, and a time ends when the device has finished.
"""

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from benchmarks.growth import FEATURES, LAMBDAS, made_up
from torch import Tensor, nn

from idbpd.experiment.machine.computing import computing
from idbpd.experiment.machine.devices import has_float64, resolve_device
from idbpd.mtl import CrossEntropy, MultiTaskData, Penalty, RobustMultiTask, same_for_all, seeded_network
from idbpd.optim import solve

ROUNDS = 20
STEPS = 200

Step = Callable[[], object]


def problem_on(
    device: torch.device, data: MultiTaskData, width: int, strength: float
) -> tuple[RobustMultiTask, Tensor]:
    """The robust problem with its data on the device, and its first weights."""
    network = seeded_network(FEATURES, width, data.classes, seed=0)
    x = nn.utils.parameters_to_vector(network.parameters()).detach()
    problem = RobustMultiTask(
        network.to(device, data.features.dtype),
        data.to(device, data.features.dtype),
        objective="priority",
        thresholds={"constraint": 1.0},
        criteria=same_for_all(CrossEntropy(), Penalty(strength)),
    )
    return problem, x.to(device) if has_float64(device) else x


def answers(problem: RobustMultiTask, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """f, g and their gradients: what a step of the solver asks for."""
    evaluation = problem.evaluate(x, problem.start(x))
    gradients = problem.differentiate(evaluation)
    return evaluation.f, evaluation.g, gradients.f, gradients.g


def finish(device: torch.device) -> None:
    """Wait until the device has done all that it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def best_times(ways: Sequence[tuple[torch.device, Step]]) -> list[float]:
    """The best time of each way in milliseconds; they take turns."""
    best = [math.inf] * len(ways)
    for _ in range(ROUNDS + 1):  # the first round also prepares what is used for the first time
        for at, (device, way) in enumerate(ways):
            finish(device)
            begin = time.perf_counter()
            way()
            finish(device)
            best[at] = min(best[at], time.perf_counter() - begin)
    return [1e3 * seconds for seconds in best]


def cost_rows(device: torch.device, samples: Sequence[int], widths: Sequence[int], *, compiled: bool) -> Iterator[str]:
    """What an evaluation costs, by the number of samples and the width."""
    host = torch.device("cpu")
    yield "| samples | width | lambda | processor | device | ratio | forward on device | compiled | CUDA graph |"
    yield "|" + "---|" * 9
    for n in samples:
        data = made_up(n)
        for width in widths:
            for strength in LAMBDAS:
                here, x_here = problem_on(host, data, width, strength)
                there, x_there = problem_on(device, data, width, strength)
                ways: list[tuple[torch.device, Step]] = [
                    (host, partial(answers, here, x_here)),
                    (device, partial(answers, there, x_there)),
                    (device, partial(there.evaluate, x_there, there.start(x_there))),
                ]
                if compiled:
                    ways.append((device, compiled_step(there, x_there, "default")))
                if compiled and device.type == "cuda":
                    ways.append((device, compiled_step(there, x_there, "reduce-overhead")))
                on_host, on_device, forward, *rest = best_times(ways)
                cells = [f"{t:.2f} ms" for t in rest] + ["-"] * (2 - len(rest))
                yield (
                    f"| {n} | {width} | {strength:g} | {on_host:.2f} ms | {on_device:.2f} ms "
                    f"| {on_host / on_device:.1f} | {forward:.2f} ms | {' | '.join(cells)} |"
                )


def compiled_step(problem: RobustMultiTask, x: Tensor, mode: str) -> Step:
    """The whole evaluation as one compiled graph: it has no break, because nothing in it looks at a value."""
    torch._dynamo.reset()
    run = torch.compile(lambda at: answers(problem, at), mode=mode, fullgraph=True)
    return lambda: run(x)


@contextmanager
def tf32() -> Iterator[None]:
    """Products of float32 rounded to TF32, as torch may do them on recent GPUs."""
    products = torch.backends.cuda.matmul
    before = products.allow_tf32
    products.allow_tf32 = True
    try:
        yield
    finally:
        products.allow_tf32 = before


def precision_rows(device: torch.device, samples: int) -> Iterator[str]:
    """The relative difference of values and gradients to float64 on the processor, with and without TF32."""
    data = made_up(samples)
    yield "| lambda | products | f, g differ by | gradients differ by | time |"
    yield "|" + "---|" * 5
    for strength in LAMBDAS:
        exact_problem, x = problem_on(torch.device("cpu"), data.to(torch.device("cpu"), torch.float64), 100, strength)
        exact = answers(exact_problem, x.double())
        problem, at = problem_on(device, data, 100, strength)
        for name, setting in (("float32", None), ("TF32", tf32)):
            if setting is not None and device.type != "cuda":
                continue
            with setting() if setting is not None else computing("auto", deterministic=False):
                found = [part.cpu().double() for part in answers(problem, at)]
                (milliseconds,) = best_times([(device, partial(answers, problem, at))])
            values, gradients = (torch.cat([a.flatten(), b.flatten()]) for a, b in (found[:2], found[2:]))
            true_values, true_gradients = (torch.cat([a.flatten(), b.flatten()]) for a, b in (exact[:2], exact[2:]))
            yield (
                f"| {strength:g} | {name} | {float((values - true_values).norm() / true_values.norm()):.0e} "
                f"| {float((gradients - true_gradients).norm() / true_gradients.norm()):.0e} | {milliseconds:.2f} ms |"
            )


def solve_rows(device: torch.device, samples: int) -> Iterator[str]:
    """A solve of some steps: its time, its evaluations, and how often the host waited for numbers of the device."""
    data = made_up(samples)
    yield f"| place | {STEPS} steps | evaluations | waits for each | worst residual |"
    yield "|" + "---|" * 5
    for place in dict.fromkeys((torch.device("cpu"), device)):
        problem, x = problem_on(place, data, 100, LAMBDAS[-1])
        finish(place)
        begin = time.perf_counter()
        with waits_on(place) as waits:
            found = solve(problem, x, max_steps=STEPS, tolerance=1e-6)
        finish(place)
        seconds = time.perf_counter() - begin
        per_evaluation = f"{len(waits) / found.evaluations:.1f}" if place.type == "cuda" else "-"
        yield f"| {place} | {seconds:.2f} s | {found.evaluations} | {per_evaluation} | {found.kkt.worst:.1e} |"


@contextmanager
def waits_on(device: torch.device) -> Iterator[list[warnings.WarningMessage]]:
    """A list that gets an entry for every wait for a CUDA device, as torch itself notices them."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        if device.type == "cuda":
            torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            if device.type == "cuda":
                torch.cuda.set_sync_debug_mode("default")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--samples", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--widths", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--compile", action="store_true", help="with torch.compile, and with CUDA graphs on CUDA")
    given = parser.parse_args()
    try:
        device = resolve_device(given.device)
    except ValueError as error:
        parser.error(f"--device {given.device}: {error}")
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
    print(f"torch {torch.__version__}, {name}, {torch.get_num_threads()} threads on the processor\n")
    with computing("auto", deterministic=False):
        for rows in (
            cost_rows(device, given.samples, given.widths, compiled=given.compile),
            precision_rows(device, given.samples[-1]),
            solve_rows(device, given.samples[-1]),
        ):
            for row in rows:
                print(row, flush=True)
            print()


if __name__ == "__main__":
    main()
