"""Every task is clearly better than a constant guess: in the words of a verdict, none is NO BETTER than one."""

from idbpd.experiment.limits.thresholds import GUESSING
from idbpd.pipelines.retraining.gates.protocol import Evidence, Gate, GateOptions, GateResult


def check(evidence: Evidence, options: GateOptions) -> list[GateResult]:  # noqa: ARG001 - there is nothing to set
    """The worst-case loss of every task on the test part, against the best answer that ignores the features."""
    return [
        GateResult(
            f"better_than_guess_{name}",
            evidence.held_out[name],
            GUESSING * guess,
            evidence.held_out[name] <= GUESSING * guess,
            _in_words(name, evidence.held_out[name], guess),
        )
        for name, guess in evidence.certificate["held_out"]["guesses"].items()
    ]


def _in_words(task: str, loss: float, guess: float) -> str:
    better = "is better" if loss <= GUESSING * guess else "is not clearly better"
    return f"{better} than a constant guess in {task} (worst-case loss, test: {loss:.4f} against {guess:.4f})"


GATE = Gate(GateOptions, check)
