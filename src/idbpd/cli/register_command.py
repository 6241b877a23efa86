"""``kedro register``: register the model of a point of a frontier."""

import click
from kedro.framework.startup import ProjectMetadata

from idbpd.cli.model_commands import connected
from idbpd.errors import InputError


@click.command()
@click.option("--slack", type=click.FloatRange(min=0), required=True, help="The slack of the point.")
@click.option("--priority", help="The task that has priority, where a frontier has several.")
@click.option("--dataset", help="The data set; default: the one in globals.yml.")
@click.option("--env", help="The configuration environment whose mlflow.yml names the store.")
@click.pass_obj
def register(
    metadata: ProjectMetadata, slack: float, priority: str | None, dataset: str | None, env: str | None
) -> None:
    """Register the model of a point of the latest frontier as a version."""
    from idbpd.tracking.point_registration import register_point  # noqa: PLC0415 - imports MLflow, as `models` does

    chosen = connected(metadata, dataset, env)
    try:
        point = register_point(chosen, slack, priority)
    except InputError as error:
        raise click.ClickException(str(error)) from error
    click.echo(
        f"version {point.number} of {point.name} is the model with priority {point.priority} and slack {slack:g}; its "
        f"limits: {point.verdict}; it has passed no gate, so it is not the champion"
    )
