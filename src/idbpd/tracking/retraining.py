"""Save the outcome of a retraining: a version in the registry, and a record for the scheduler."""

from typing import Any

from idbpd.datasets import AtomicDataset
from idbpd.errors import ConfigurationError
from idbpd.exit_codes import EXIT_CODES
from idbpd.tracking.logging import flatten
from idbpd.tracking.registry import (
    CERTIFICATE,
    FINGERPRINT,
    VERDICT,
    YARDSTICK,
    make_champion,
    now,
    register,
    registered_name,
    tag,
)
from idbpd.tracking.runs import child_run, current_journal, parent_of, track


class RetrainingDataset(AtomicDataset):
    """Registers a new model, promotes it if it passed the gates, and writes the record.

    The order is: the version with its certificate as challenger, the alias champion, the verdict as tags, the record. A
    crash before the alias is moved leaves the old champion in place.
    """

    def __init__(self, *, dataset: dict[str, Any], run: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
        """Set the file, and the run that the model was logged to."""
        super().__init__(dataset=dataset, metadata=metadata)
        self._run = run

    def save(self, data: dict[str, Any]) -> None:
        """Register, promote and record the result of the retraining pipeline."""
        run_id, journal = child_run(self._run), current_journal()
        if run_id is None or journal is None:
            raise ConfigurationError(
                "the model cannot be registered: the tracking store cannot be reached; retrain again"
            )
        name = registered_name(self._run["dataset"])
        version = register(name, data["model_id"], run_id, _tags(data))
        verdict = data["verdict"]
        outcome = "promoted" if verdict["passed"] else "rejected"
        if verdict["passed"]:
            tag(name, version, {YARDSTICK: verdict["yardstick"] or version})
            make_champion(name, version, instead_of=verdict["champion"])
        # After the promotion: a version with a verdict is not tried again.
        tag(name, version, {VERDICT: outcome, **{f"gate.{gate['gate']}": _in_words(gate) for gate in verdict["gates"]}})
        message = _message(outcome, name, version, verdict)
        track(self._run, "tags", {"retraining": outcome})
        journal.append(parent_of(journal), "tags", {"retraining": outcome})
        self.record(
            outcome,
            message,
            model=name,
            version=version,
            champion=version if verdict["passed"] else verdict["champion"],
            why=[f"it {reason}" for reason in verdict["why"]],
            gates=verdict["gates"],
            certificate=data["certificate"],
            run_id=run_id,
        )
        track(self._run, "artifact", {"file": self.path.name}, [self.path])

    def record(self, outcome: str, message: str, **details: Any) -> None:
        """Write the record of an outcome, with the exit code of the command."""
        record = {
            "outcome": outcome,
            "exit_code": EXIT_CODES.get(outcome),
            "message": message,
            "dataset": self._run["dataset"],
            "at": now(),
            **details,
        }
        super().save(record)


def _tags(data: dict[str, Any]) -> dict[str, Any]:
    certificate = {key: value for key, value in flatten(data["certificate"]).items() if value is not None}
    return {
        **{f"{CERTIFICATE}{key}": value for key, value in certificate.items()},
        **{f"{FINGERPRINT}{key}": value for key, value in data["fingerprints"].items()},
    }


def _in_words(gate: dict[str, Any]) -> str:
    """A gate as the tag of a version, which is read in a small column."""
    limit = "" if gate["limit"] is None else f", at most {gate['limit']:.4g}"
    return f"{'passed' if gate['passed'] else 'FAILED'}: {gate['value']:.4g}{limit}: it {gate['note']}"


def _message(outcome: str, name: str, version: int, verdict: dict[str, Any]) -> str:
    before, why = verdict["champion"], "; it ".join(verdict["why"])
    if outcome == "promoted":
        instead = "" if before is None else f" instead of version {before}"
        return f"promoted: version {version} of {name} is the champion{instead}; it {why}"
    stays = "there is no champion" if before is None else f"version {before} stays the champion"
    return f"rejected: version {version} of {name} {why}; {stays}"
