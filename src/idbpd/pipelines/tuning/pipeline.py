"""Data and threshold to the best pair of the grid."""

import itertools

from kedro.pipeline import Node, Pipeline

from idbpd.experiment.node_inputs import EXPERIMENT, Unbundled
from idbpd.pipelines.tuning.nodes import Trial, choose, try_pair

# The paper's values. Text, because they name files, and without a dot, because Kedro takes one for a namespace.
GAMMAS = ("1e-4", "25e-5", "5e-4", "1e-3", "5e-3", "1e-2")
ALPHAS = ("1e-1", "2e-1", "5e-1", "1")


def create_pipeline() -> Pipeline:
    """One node per pair, so that each is a tracked run of its own, and a grid that was stopped continues with
    ``--only-missing-outputs``.
    """
    shared = {"tuning": "params:tuning", "training": "params:training", "threshold": "threshold"}
    pairs = list(itertools.product(GAMMAS, ALPHAS))
    nodes = [
        Node(
            Unbundled(try_pair, trial=Trial(gamma, alpha, number, len(pairs))),
            inputs={"train": "train", "calibrated_weights": "calibrated_weights", **shared, **EXPERIMENT},
            outputs=[f"trial_result_{gamma}_{alpha}", f"trial_history_{gamma}_{alpha}"],
            name=f"trial_{number:02d}_gamma_{gamma}_alpha_{alpha}",  # Kedro runs them in the order of their names
        )
        for number, (gamma, alpha) in enumerate(pairs, start=1)
    ]
    chosen_with = ["params:dataset", "params:split", "params:features", "params:calibration", *shared.values()]
    results = [f"trial_result_{gamma}_{alpha}" for gamma, alpha in pairs]
    nodes.append(
        Node(
            Unbundled(choose),
            inputs=[*chosen_with, *EXPERIMENT.values(), *results],
            outputs=["trials", "tuned_parameters"],
            name="choose",
        )
    )
    return Pipeline(nodes)
