"""The first check of parameters: the types that need no torch, before anything is imported that takes seconds."""

import importlib
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl

from idbpd.unknown_names import LISTING
from idbpd.validation import validated

# Where the type of a block is. `ConfigurationHook` has the types from the nodes themselves, and checks all blocks; a
# test says that they are the same. The options of methods and of gates are not here: they come from code with torch.
TYPES = {
    "split": "idbpd.experiment.parameters:SplitParameters",
    "features": "idbpd.experiment.parameters:FeatureParameters",
    "tasks": "idbpd.experiment.parameters:TasksParameters",
    "problem": "idbpd.experiment.parameters:ProblemSettings",
    "weight_decay_search": "idbpd.experiment.parameters:WeightDecaySearchParameters",
    "training": "idbpd.experiment.parameters:TrainingParameters",
    "model": "idbpd.experiment.parameters:ModelParameters",
    "compute": "idbpd.experiment.compute_parameters:ComputeParameters",
    "seed": "idbpd.experiment.parameters:Seed",
    "calibration": "idbpd.experiment.parameters:CalibrationParameters",
    "checkpoint": "idbpd.experiment.parameters:CheckpointParameters",
    "comparison": "idbpd.pipelines.training.parameters:ComparisonParameters",
    "evaluation": "idbpd.pipelines.evaluation.parameters:EvaluationParameters",
    "tuning": "idbpd.pipelines.tuning.parameters:TuningParameters",
    "frontier": "idbpd.pipelines.frontier.parameters:FrontierParameters",
    "energy": "idbpd.pipelines.energy.parameters:EnergyParameters",
    "report": "idbpd.pipelines.report.parameters:ReportParameters",
    "compare": "idbpd.pipelines.run_comparison.parameters:CompareParameters",
    "benchmark": "idbpd.pipelines.benchmark.parameters:BenchmarkParameters",  # last: `all` methods need torch
}


def type_at(address: str) -> Any:
    """The type at ``module:name``."""
    module, _, name = address.partition(":")
    return getattr(importlib.import_module(module), name)


class FirstCheckHook:
    """Refuses a wrong value in the time that Kedro itself needs to start."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Check what is there; what is missing or unknown is found later."""
        parameters: dict[str, Any] = context.config_loader["parameters"]
        for name, address in TYPES.items():
            if name in parameters:
                validated(name, type_at(address), parameters[name], listing=LISTING)
