"""``kedro models`` lists the registered versions; ``kedro rollback`` returns to an earlier one.

MLflow is imported when a command is called: `kedro --help` imports this module for one line about each.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from kedro.framework.project import settings
from kedro.framework.startup import ProjectMetadata
from rich.console import Console
from rich.table import Table

from idbpd.datasets.partial import temporary_folder
from idbpd.errors import ConfigurationError, InputError
from idbpd.hooks.sources import check_names

if TYPE_CHECKING:
    from idbpd.tracking.registry import Version

_dataset = click.option("--dataset", help="The data set; default: the one in globals.yml.")
_env = click.option("--env", help="The configuration environment whose mlflow.yml names the store.")


@click.command()
@_dataset
@_env
@click.pass_obj
def models(metadata: ProjectMetadata, dataset: str | None, env: str | None) -> None:
    """List the versions of a data set's registered model, newest first."""
    from idbpd.tracking.registry import versions  # noqa: PLC0415

    name = _registered(metadata, dataset, env)
    found = versions(name)
    if not found:
        raise click.ClickException(f"no model is registered as {name}; register one with kedro run --pipeline retrain")
    # Without a terminal the width is fixed, so that a log file is not wrapped at 80 columns.
    Console(width=None if Console().is_terminal else 160).print(_table(name, found))


@click.command()
@click.option("--to", type=click.IntRange(min=1), help="The version; default: the champion before the current one.")
@_dataset
@_env
@click.pass_obj
def rollback(metadata: ProjectMetadata, to: int | None, dataset: str | None, env: str | None) -> None:
    """Make an earlier version the champion again."""
    from idbpd.tracking import verify_model  # noqa: PLC0415
    from idbpd.tracking.registry import champion_of, make_champion  # noqa: PLC0415

    name = _registered(metadata, dataset, env)
    try:
        champion = champion_of(name)
        if champion is None:
            raise ConfigurationError(f"{name} has no champion")
        target = _target(name, champion, to)
        with temporary_folder() as folder:  # an altered model must not become the champion
            verify_model(f"models:/{name}/{target}", Path(folder))
        make_champion(name, target, instead_of=champion.number)
    except InputError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"version {target} of {name} is the champion; version {champion.number} was")


def _target(name: str, champion: "Version", to: int | None) -> int:
    """The version to return to; it must have been the champion before."""
    from idbpd.tracking.registry import versions  # noqa: PLC0415

    used = {version.number: version for version in versions(name) if version.verdict == "promoted"}
    if to is None:
        to = next((number for number in sorted(used, reverse=True) if number < champion.number), None)
        if to is None:
            raise ConfigurationError(
                f"version {champion.number} of {name} is the first champion; there is no earlier one"
            )
    choice = ", ".join(str(number) for number in sorted(used) if number != champion.number) or "none"
    if to == champion.number:
        raise ConfigurationError(f"version {to} of {name} is already the champion; other former champions: {choice}")
    if to not in used:
        raise ConfigurationError(f"version {to} of {name} was never the champion; former champions: {choice}")
    return to


def _registered(metadata: ProjectMetadata, dataset: str | None, env: str | None) -> str:
    """Connect to the store and return the name of the registered model."""
    from idbpd.tracking.registry import registered_name  # noqa: PLC0415

    return registered_name(connected(metadata, dataset, env))


def connected(metadata: ProjectMetadata, dataset: str | None, env: str | None) -> str:
    """Connect to the store and return the name of the data set: the given one, or the one in globals.yml."""
    from idbpd.tracking.connection import connect  # noqa: PLC0415

    arguments = dict(settings.CONFIG_LOADER_ARGS)
    loader = settings.CONFIG_LOADER_CLASS(
        conf_source=str(metadata.project_path / settings.CONF_SOURCE), env=env, **arguments
    )
    try:
        chosen: Any = dataset or loader["globals"]["dataset"]
        check_names([chosen])
        connect(Path(metadata.project_path), loader, "this command")
    except InputError as error:
        raise click.ClickException(str(error)) from error
    return str(chosen)


def _table(name: str, found: "list[Version]") -> Table:
    table = Table(title=name, title_justify="left")
    columns = (
        "version",
        "",
        "trained (UTC)",
        "verdict",
        "objective",
        "constraint",
        "worst residual",
        "solver",
        "why not",
        "run",
    )
    for column in columns:
        table.add_column(column, overflow="fold")
    for version in found:
        certificate = {key.removeprefix("certificate."): value for key, value in version.tags.items()}
        residuals = [
            float(certificate[key]) for key in ("stationarity", "infeasibility", "slackness") if key in certificate
        ]
        failed = [key.removeprefix("gate.") for key, value in version.tags.items() if value.startswith("FAILED")]
        table.add_row(
            str(version.number),
            "champion" if version.is_champion else "challenger" if version.is_challenger else "",
            f"{version.created:%Y-%m-%d %H:%M}",
            version.verdict,
            _number(certificate.get("objective")),
            _number(certificate.get("constraint")),
            f"{max(residuals):.1e}" if residuals else "",
            certificate.get("status", ""),
            ", ".join(failed).replace("_", " "),
            version.run_id,
        )
    return table


def _number(text: str | None) -> str:
    return "" if text is None else f"{float(text):.4f}"
