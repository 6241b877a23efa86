"""Data and thresholds to a model within an energy budget."""

from kedro.pipeline import Node, Pipeline

from idbpd.experiment.node_inputs import CHECKPOINTING, EXPERIMENT, Unbundled
from idbpd.pipelines.energy.nodes import measure_energy, prune_and_fine_tune, train_dense, train_under_budget
from idbpd.pipelines.energy.plan import plan_energy


def create_pipeline() -> Pipeline:
    """The plan needs the split alone, so that a budget out of reach is refused before anything is solved."""
    shared = {"train": "train", "threshold": "threshold", **EXPERIMENT}
    return Pipeline(
        [
            Node(
                plan_energy,
                inputs=["train", "params:model", "params:energy", "params:seed"],
                outputs="energy_plan",
                name="plan_energy",
            ),
            Node(
                Unbundled(train_dense),
                inputs={
                    **shared,
                    **CHECKPOINTING,
                    "calibrated_weights": "calibrated_weights",
                    "training": "params:training",
                    "methods": "params:methods",
                },
                outputs="energy_dense",
                name="train_dense",
            ),
            Node(
                Unbundled(train_under_budget),
                inputs={**shared, **CHECKPOINTING, "dense": "energy_dense", "energy": "params:energy"},
                outputs="energy_budgeted",
                name="train_under_budget",
            ),
            Node(
                Unbundled(prune_and_fine_tune),
                inputs={
                    **shared,
                    **CHECKPOINTING,
                    "budgeted": "energy_budgeted",
                    "energy": "params:energy",
                    "training": "params:training",
                },
                outputs="energy_pruned",
                name="prune_and_fine_tune",
            ),
            Node(
                Unbundled(measure_energy),
                inputs={
                    **shared,
                    "table": "table",
                    "test": "test",
                    "encoding": "encoding",
                    "scaling": "scaling",
                    "single_task_weights": "single_task_weights",
                    "dense": "energy_dense",
                    "budgeted": "energy_budgeted",
                    "pruned": "energy_pruned",
                    "energy": "params:energy",
                    "split": "params:split",
                },
                outputs=["energy_points", "energy_summary", "energy_headline"],
                name="measure_energy",
            ),
        ]
    )
