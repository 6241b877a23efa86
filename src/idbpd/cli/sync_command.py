"""``kedro sync``: send entries that earlier runs could not send to the tracking store."""

import click
from kedro.framework.session import KedroSession
from kedro.framework.startup import ProjectMetadata

from idbpd.cli.run_command import INPUT_ERRORS, configure_logging, explanation
from idbpd.tracking.settings import TrackingSettings
from idbpd.validation import validated


@click.command()
@click.option("--env", "-e", help="The configuration environment, as for kedro run.")
@click.pass_obj
def sync(metadata: ProjectMetadata, env: str | None) -> None:
    """Send entries that earlier runs could not send to the tracking store."""
    from idbpd.tracking.sync import synchronise  # noqa: PLC0415 - imports MLflow, as `models` does

    configure_logging(metadata, None)
    try:
        config = KedroSession.create(metadata.project_path, env=env).load_context().config_loader["mlflow"]
        click.echo(synchronise(metadata.project_path, validated("mlflow", TrackingSettings, config)))
    except INPUT_ERRORS as error:
        raise click.ClickException(explanation(error) or "") from error
