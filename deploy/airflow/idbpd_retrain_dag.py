"""The retrain pipeline as an Airflow DAG, made by kedro-airflow from deploy/airflow/one_task_dag.j2.

All nodes are one group, and so one task: a DAG run is one ``kedro run`` and one MLflow run, and data go from node to
node in memory. Airflow needs neither torch nor Kedro: the task starts the project's own environment. Airflow 3, with
the standard provider.

Where the project lies: the environment variable ``IDBPD_PROJECT`` of the Airflow workers.
"""

import os
from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Param

PROJECT = os.environ.get("IDBPD_PROJECT", "/srv/idbpd")
# Rejected: the retraining worked, but its model is not better. The task is shown as skipped, not as failed.
REJECTED = 3

with DAG(
    dag_id="idbpd_retrain",
    description="Retrain, gate, register, promote",
    schedule="30 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,  # a night that was missed needs no training of its own: the next one sees the same data
    max_active_runs=1,  # a second one would be refused by the project's lock
    default_args={"retries": 1, "retry_delay": timedelta(minutes=10)},
    params={
        "dataset": Param("multi_digits", type="string", pattern="^[A-Za-z0-9_-]+$", description="The data set"),
        "force": Param(False, type="boolean", description="Train although nothing has changed"),
    },
    tags=["idbpd"],
) as dag:
    BashOperator(
        task_id="retrain",
        bash_command=(
            '"$IDBPD_PROJECT/deploy/retrain" --params '
            "'dataset={{ params.dataset }},retrain.force={{ params.force | lower }}'"
        ),
        env={"IDBPD_PROJECT": PROJECT},
        append_env=True,
        skip_on_exit_code=REJECTED,
        execution_timeout=timedelta(hours=8),
    )
