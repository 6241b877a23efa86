"""``kedro show``: what can be chosen and set, from the files and registries themselves."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from kedro.framework.startup import ProjectMetadata

from idbpd.cli.commented_yaml import Entry, entries, header
from idbpd.cli.parameter_files import BASE, PARAMETERS, SOURCES
from idbpd.unknown_names import unknown_parameter

LOCAL = "local"
WIDTH, LONGEST_NAME = 120, 48
# A value that is given on the command line, or else in globals.yml.
_SHARED = re.compile(r'"\$\{runtime_params:[\w.]+,\$\{globals:(\w+)\}\}"')


@click.group()
def show() -> None:
    """List data sets, methods, worst cases, losses, measures and parameters."""


@show.command()
@click.argument("block", required=False)
@click.pass_obj
def parameters(metadata: ProjectMetadata | None, block: str | None) -> None:
    """List all parameters, or those of a BLOCK, with their values in conf/base and their meanings."""
    found = listed_parameters(_conf(metadata))
    shown = [entry for entry in found if block is None or f"{entry.name}.".startswith(f"{block}.")]
    if not shown:
        raise click.ClickException(unknown_parameter(str(block), [entry.name for entry in found]))
    _print((_assigned(entry), entry.meaning) for entry in shown)


@show.command()
@click.pass_obj
def datasets(metadata: ProjectMetadata | None) -> None:
    """List the data sets of conf/base and conf/local."""
    conf = _conf(metadata)
    files = [path for env in (BASE, LOCAL) for path in sorted((conf / env).glob(SOURCES))]
    _print((entry.name, entry.meaning) for path in files for entry in entries(path, depth=1) if entry.name[0] != "_")


@show.command()
def methods() -> None:
    """List the methods for training.method, with their options."""
    from idbpd.baselines import METHODS  # noqa: PLC0415 - imports torch, which takes a second

    rows = []
    for name, entry in METHODS.items():
        options = ", ".join(f"methods.{name}.{option} = {known.default}" for option, known in entry.options.items())
        rows.append((name, ". ".join(filter(None, [entry.look.label if entry.look else "", options]))))
    _print(rows)


@show.command("worst-cases")
def worst_cases() -> None:
    """List the worst cases for problem.worst_case and tasks.<task>.worst_case, with their options."""
    from idbpd.mtl import WORST_CASES  # noqa: PLC0415 - imports torch, which takes a second

    _print((name, _described(kind)) for name, kind in WORST_CASES.items())


@show.command()
def losses() -> None:
    """List the losses for problem.loss and tasks.<task>.loss, with the kinds of task that they are for."""
    from idbpd.mtl import LOSSES  # noqa: PLC0415 - imports torch, which takes a second

    _print((name, f"{_described(kind)} For: {', '.join(kind.kinds)}.") for name, kind in LOSSES.items())


@show.command()
def measures() -> None:
    """List the measures of quality by kind of task, and those that a limit can be set in."""
    import torch  # noqa: PLC0415 - it takes a second

    from idbpd.mtl.metrics import MEASURES, SAMPLE_ERRORS, Answered  # noqa: PLC0415 - imports torch

    two = torch.tensor([[0.9, 0.1], [0.1, 0.9]], dtype=torch.float64)
    rows = []
    for kind, measure in MEASURES.items():
        outputs = two if kind in {"classes", "labels", "distribution"} else two[:, :1]
        names = ", ".join(measure(Answered(outputs, outputs, outputs.round(), 1.0)))
        limits = ", ".join(SAMPLE_ERRORS.get(kind, {}))
        rows.append((kind, f"{names}. Limits, as tasks.<task>.limit.<measure>: {limits or 'loss only'}."))
    _print(rows)


def listed_parameters(conf: Path) -> list[Entry]:
    """All parameters of ``conf/base``, each block before what is in it."""
    shared = {entry.name: entry.value for entry in entries(conf / BASE / "globals.yml")}
    found = [entry for path in sorted((conf / BASE).glob(PARAMETERS)) for entry in _parameters(path)]
    return [entry._replace(value=_value(entry.value, shared)) for entry in found]


def _parameters(path: Path) -> list[Entry]:
    """The parameters of a file; its first lines are about its first block, if that has no comment of its own."""
    found = entries(path, depth=3)
    if found and not found[0].meaning and found[0].value is None:
        found[0] = found[0]._replace(meaning=header(path))
    return found


def _described(kind: Any) -> str:
    """The first sentence about a class, and the fields that people set."""
    sentence = " ".join((kind.__doc__ or "").split("\n\n")[0].split()).replace("``", "")
    options = {field.name: field.default for field in dataclasses.fields(kind) if field.init}
    written = ", ".join(
        name if default is dataclasses.MISSING else f"{name} = {default}" for name, default in options.items()
    )
    return f"{sentence} Options: {written}." if written else sentence


def _value(written: str | None, shared: Mapping[str, str | None]) -> str | None:
    found = _SHARED.fullmatch(written or "")
    return shared.get(found[1]) if found else written


def _assigned(entry: Entry) -> str:
    return f"{entry.name}:" if entry.value is None else f"{entry.name} = {entry.value}"


def _conf(metadata: ProjectMetadata | None) -> Path:
    return (metadata.project_path if metadata else Path()) / "conf"


def _print(rows: Iterable[tuple[str, str]]) -> None:
    formatter = click.HelpFormatter(width=WIDTH, max_width=WIDTH)
    formatter.write_dl([(name, text or " ") for name, text in rows], col_max=LONGEST_NAME)
    click.echo(formatter.getvalue(), nl=False)
