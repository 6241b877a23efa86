"""Weights to certificate."""

from kedro.pipeline import Node, Pipeline

from idbpd.experiment.export import export
from idbpd.experiment.headline import overview, state_verdict
from idbpd.experiment.limits.certify import certify
from idbpd.experiment.node_inputs import EXPERIMENT, Unbundled
from idbpd.pipelines.evaluation.figures import draw_kkt_curves
from idbpd.pipelines.evaluation.groups import compare_groups
from idbpd.pipelines.evaluation.hardest_samples import hardest_samples
from idbpd.pipelines.evaluation.nodes import (
    compare,
    draw_loss_distribution,
    draw_worst_case_weights,
)
from idbpd.pipelines.evaluation.page import write_report
from idbpd.pipelines.evaluation.worst_case_study import study_worst_case

# The inputs of `idbpd.pipelines.evaluation.compared.Assessment`.
ASSESSMENT = {
    "train": "train",
    "test": "test",
    "model": "params:model",
    "problem": "problem",
    "split": "params:split",
}


def create_pipeline() -> Pipeline:
    """Everything is measured on the saved weights; nothing is taken from what training reported.

    The node functions `certify` and `export` are in `idbpd.experiment`, because the frontier uses them too.
    """
    return Pipeline(
        [
            Node(
                Unbundled(certify),
                inputs={
                    "train": "train",
                    "test": "test",
                    "weights": "weights",
                    "outcome": "outcome",
                    "threshold": "threshold",
                    "single_task_weights": "single_task_weights",
                    "split": "params:split",
                    **EXPERIMENT,
                },
                outputs="certificate",
                name="certify",
            ),
            Node(state_verdict, inputs=["certificate", "quality"], outputs="headline", name="state_verdict"),
            Node(
                Unbundled(compare),
                inputs={
                    "weights": "weights",
                    "unconstrained_weights": "unconstrained_weights",
                    "equal_weights": "equal_weights",
                    "single_task_weights": "single_task_weights",
                    "fixed_weights": "fixed_weights",
                    "certificate": "certificate",
                    **ASSESSMENT,
                },
                outputs=["quality", "summary", "comparison", "label_quality", "verdicts"],
                name="compare",
            ),
            Node(overview, inputs=["certificate", "quality"], outputs="overview", name="overview"),
            Node(
                Unbundled(compare_groups),
                inputs={
                    "weights": "weights",
                    "unconstrained_weights": "unconstrained_weights",
                    "equal_weights": "equal_weights",
                    "single_task_weights": "single_task_weights",
                    **ASSESSMENT,
                },
                outputs=["group_quality", "worst_groups"],
                name="compare_groups",
            ),
            Node(
                export,
                inputs=["table", "train", "encoding", "scaling", "weights", "params:model", "problem"],
                outputs="model",
                name="export",
            ),
            Node(
                draw_kkt_curves,
                inputs=["history", "clock", "certificate", "comparison"],
                outputs="kkt_curves",
                name="draw_kkt_curves",
            ),
            Node(
                Unbundled(draw_loss_distribution),
                inputs={"weights": "weights", "certificate": "certificate", **ASSESSMENT},
                outputs="loss_distribution",
                name="draw_loss_distribution",
            ),
            Node(
                draw_worst_case_weights,
                inputs=["train", "weights", "params:model", "problem"],
                outputs="worst_case_weights",
                name="draw_worst_case_weights",
            ),
            Node(
                Unbundled(study_worst_case),
                inputs={
                    "table": "table",
                    "rows": "rows",
                    "encoding": "encoding",
                    "weights": "weights",
                    "certificate": "certificate",
                    **ASSESSMENT,
                    "evaluation": "params:evaluation",
                },
                outputs=["worst_case_study", "standing"],
                name="study_worst_case",
            ),
            Node(hardest_samples, inputs="worst_case_study", outputs="hardest_samples", name="hardest_samples"),
            Node(
                write_report,
                inputs={
                    "dataset": "params:dataset",
                    "certificate": "certificate",
                    "threshold": "threshold",
                    "outcome": "outcome",
                    "comparison": "comparison",
                    "label_quality": "label_quality",
                    "group_quality": "group_quality",
                    "verdicts": "verdicts",
                    "history": "history",
                    "clock": "clock",
                    "weight_decay": "weight_decay",
                    "reserve": "reserve",
                    "worst_case_study": "worst_case_study",
                    "node_warnings": "node_warnings",
                    "parameters": "parameters",
                    "project_folder": "project_folder",
                },
                outputs="report",
                name="write_report",
            ),
        ]
    )
