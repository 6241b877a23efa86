"""What each safeguard of the default solver is worth: each is switched off alone, and the same runs are made again.

A switch changes a few lines of the solver while it runs, and nothing on disk. It is measured on

- small problems: the bank in float64 from every start, in float32 from the first, kinks, constraints that cannot be
  met, random problems, equalities and bounds, semi-infinite problems, worst cases that are easy to miss, other units;
- the robust multi-task problem on data: in the product's setting and in the paper's, three seeds, a fixed number of
  evaluations; all runs of a problem begin with the same threshold and the same weights, which are kept on disk.

The first run of each problem is the solver as it is, and notes which switches would have changed a value on the way.
Without one that would not, the run is the same to the last digit, and is not made again. With ``--tests``, files of the
solver's own tests are run too: those that fail without the safeguard.

Runs on data are chaotic: a start that differs in the sixth digit may need a quarter more or fewer evaluations. Controls
show how much: the solver as it is, from such starts. What is not clearly outside of their range is no effect.

Run: ``PYTHONPATH=src:. python benchmarks/ablation.py [--only name ...] [--bank-only]``. The data sets that are
not bundled are read from the folder that IDBPD_DATA names. Results are kept in a file; what is in it is not run again.
"""

import argparse
import itertools
import json
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.ablation_bank import BANK, Outcome
from benchmarks.ablation_data import CONTROLS, DATA, PROJECT, SEEDS, SETTINGS, measure_data
from benchmarks.ablation_switches import SWITCHES, Switch, can_be_watched, watched, without
from benchmarks.ablation_tables import BASE, Found, tables

# What the bank has already, and what takes long and says nothing about a safeguard.
REPEATED = ("has_a_certificate", "smooth_problems", "goes_on_from_a_file", "single_precision", "absolute_errors")
SECONDS = 5  # of the processor, for a run that may have no end without a safeguard


class _Failures:
    """Collects the names of tests that fail."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names.append(report.nodeid.split("/")[-1])


def failing_tests(file: str) -> list[str]:
    """The tests of a file that fail, in this process: with what is switched off in it."""
    failures = _Failures()
    chosen = " and ".join(f"not {part}" for part in REPEATED)
    options = ["-q", "-p", "no:cacheprovider", "--tb=no", "-r", "N", "-k", chosen]
    pytest.main([str(PROJECT / "tests" / "optim" / file), *options], plugins=[failures])
    return failures.names


class Results:
    """Everything measured so far, in a file."""

    def __init__(self, file: Path) -> None:
        """Go on with what the file has."""
        self._file = file
        self.found: Found = json.loads(file.read_text()) if file.exists() else {}

    def has(self, switch: str, what: str) -> bool:
        """Whether it was measured."""
        return f"{switch} | {what}" in self.found

    def get(self, switch: str, what: str) -> Any:
        """What was measured."""
        return self.found[f"{switch} | {what}"]

    def put(self, switch: str, what: str, measured: Any) -> None:
        """Keep it."""
        self.found[f"{switch} | {what}"] = measured
        print(f"  {switch} | {what}: {_short(measured)}", file=sys.stderr, flush=True)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(self.found, indent=0))


def _short(measured: Any) -> str:
    if isinstance(measured, dict) and all(isinstance(one[0], bool) for one in measured.values()):
        outcomes = [Outcome(*outcome) for outcome in measured.values()]
        right = sum(outcome.right for outcome in outcomes)
        return f"{right} of {len(outcomes)}, {sum(outcome.evaluations for outcome in outcomes)} evaluations"
    return str(measured)[:100]


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Raise after so many seconds of the processor."""

    def stop(*_: object) -> None:
        raise RuntimeError(f"no end after {seconds} seconds")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _attempted(run: Callable[[], Outcome]) -> Outcome:
    """A run that may raise, or have no end, without a safeguard."""
    try:
        with _limited(SECONDS):
            return run()
    except Exception:
        return Outcome(right=False, evaluations=0)


def measure_base(results: Results, group: str) -> None:
    """A group of small problems with the solver as it is, and which switches would have mattered for each."""
    if results.has(BASE, group):
        return
    outcomes, fired = dict[str, Outcome](), dict[str, list[str]]()
    for name, small in BANK[group].items():
        names = set[str]()
        with watched(names):
            outcomes[name] = _attempted(small.run)
        fired[name] = sorted(names)
    results.put("fired", group, fired)
    results.put(BASE, group, outcomes)


def measure_switch(results: Results, switch: Switch, group: str) -> None:
    """A group without a safeguard: those runs in which it would have mattered."""
    if results.has(switch.name, group):
        return
    outcomes, fired = dict(results.get(BASE, group)), results.get("fired", group)
    with without(switch):
        for name, small in BANK[group].items():
            if not can_be_watched(switch) or switch.name in fired[name]:
                outcomes[name] = _attempted(small.run)
    results.put(switch.name, group, outcomes)


def measure_on_data(results: Results, names: Sequence[str], run: tuple[str, str, int], folder: Path) -> None:
    """A run on data with the solver as it is, from starts changed a little, and without each safeguard."""
    what = " ".join(map(str, run))
    known = {switch.name: switch for switch in SWITCHES}
    if not results.has(BASE, what):
        fired = set[str]()
        with watched(fired):
            found = measure_data(*run, folder)
        results.put("fired", what, sorted(fired))
        results.put(BASE, what, found)
    for name in names:
        switch = known.get(name)
        if results.has(name, what) or not (switch is None or switch.data):
            continue
        if switch is not None and can_be_watched(switch) and name not in results.get("fired", what):
            results.put(name, what, results.get(BASE, what))
            continue
        with without(switch):
            results.put(name, what, measure_data(*run, folder, CONTROLS.get(name)))


def main() -> None:
    """Measure what is asked for and print the tables."""
    known = {switch.name: switch for switch in SWITCHES}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--only", nargs="+", choices=[*known, *CONTROLS], default=[*CONTROLS, *known], metavar="name")
    parser.add_argument("--bank-only", action="store_true", help="no data sets")
    parser.add_argument("--data-only", action="store_true", help="no bank")
    parser.add_argument("--neither", action="store_true", help="tests and the tables only")
    parser.add_argument("--datasets", nargs="+", choices=DATA, default=list(DATA), metavar="name")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--groups", nargs="+", choices=BANK, default=list(BANK), metavar="name")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=["product", "paper"], metavar="name")
    parser.add_argument("--tests", nargs="+", default=[], metavar="file", help="which tests of these files fail, too")
    parser.add_argument("--results", type=Path, default=PROJECT / "data" / "ablation" / "results.json")
    parser.add_argument("--calibrated", type=Path, default=PROJECT / "data" / "ablation", help="folder to keep them")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    results = Results(asked.results)
    if not (asked.data_only or asked.neither):
        for group in asked.groups:
            measure_base(results, group)
            for switch in (known[name] for name in asked.only if name in known):
                if group in switch.groups:
                    measure_switch(results, switch, group)
    if not (asked.bank_only or asked.neither):
        for run in itertools.product(asked.datasets, asked.settings, asked.seeds):
            measure_on_data(results, asked.only, run, asked.calibrated)
    for name, file in itertools.product((name for name in asked.only if name in known), asked.tests):
        if not results.has(name, file):
            with without(known[name]):
                results.put(name, file, failing_tests(file))
    print(tables(results.found, [known[name] for name in asked.only if name in known]))
    for name, file in itertools.product(asked.only, asked.tests):
        if results.has(name, file) and results.get(name, file):
            failed = results.get(name, file)
            print(f"\n`{name}`: {len(failed)} tests fail:\n" + "\n".join(f"- {test}" for test in failed))


if __name__ == "__main__":
    main()
