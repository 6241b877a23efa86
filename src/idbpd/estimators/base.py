"""What all estimators have in common: arguments, fit, and the answers to all tasks."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _num_samples, check_consistent_length, check_is_fitted, validate_data

from idbpd.errors import ConfigurationError, DataError, InputError
from idbpd.estimators.features import features_of, table_of
from idbpd.estimators.scores import score
from idbpd.estimators.settings import Settings
from idbpd.estimators.targets import framed, named_as, side_by_side, task_columns
from idbpd.estimators.training import fit
from idbpd.mtl.kinds import Kind

ROWS_AT_A_TIME = 16_384
# The blocks of parameters files, which an estimator does not have.
_BLOCK = re.compile(r"\b(?:problem|calibration|training|model|compute|split)\.(?=[a-z])")


class BaseMultiTask(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """The priority task is as good as it can be in the worst case; every other task keeps a limit.

    Parameters
    ----------
    priority: the task whose worst case is minimised: a column of y by name or number. None: the first.
    slack: by which share another task may be worse than a model made for it alone, on unseen data.
    tasks: options of single tasks by name: ``slack``, ``limit``, ``loss``, ``worst_case``. A limit is a worst-case
        loss, or a measure such as ``{"accuracy": 0.9}``. The columns of an array are named y0, y1, ...
    worst_case: over the rows: "auto" is {"share": 0.8}, any 80 % of them; or {"groups": column}, {"chi2": 0.5}, "mean".
    loss: of a row; "auto" is the usual one for each kind of task.
    beyond_limits: what the priority task may lose where a task within its limit gains one, in shares of a guess.
    weight_decay: a number, or "auto": chosen on a validation part.
    reserve: how much tighter limits are in training, from 0 to 1, or "auto": as a validation part shows to be needed.
    hidden: the width of the layer that all tasks share.
    test_fraction: the share of rows that are not trained on, but say whether limits hold. Not used for a single task.
    max_steps, tolerance: when the solver ends; the tolerance is for the worst KKT residual.
    device, dtype, threads: where and how it computes; with threads="auto" every core for large tables, else one.
    random_state: decides the initial weights and which rows are held out. None: differently at every fit.
    verbose: whether bars show the progress on a terminal.

    Attributes
    ----------
    certificate_: KKT residuals, status, limits, multipliers and the verdicts with their bounds: docs/estimator.md.
    verdicts_: for each limited task HOLDS, NOT SHOWN or BROKEN on the held-out rows; empty where none are.
    thresholds_: the limit of each limited task in training, on its worst-case loss.
    tasks_: the names of the tasks, in the order of y.
    weight_decay_: the number that was given or chosen.
    history_: a data frame with the values of every step.
    n_features_in_, feature_names_in_: as in all of scikit-learn.
    """

    def __init__(
        self,
        *,
        priority: str | int | None = None,
        slack: float = 0.1,
        tasks: dict[Any, dict[str, Any]] | None = None,
        worst_case: Any = "auto",
        loss: Any = "auto",
        beyond_limits: float = 0.3,
        weight_decay: float | Literal["auto"] = "auto",
        reserve: float | Literal["auto"] = "auto",
        hidden: int = 100,
        test_fraction: float = 0.2,
        max_steps: int = 3000,
        tolerance: float = 1e-3,
        device: str = "auto",
        dtype: str = "float32",
        threads: int | Literal["auto"] = "auto",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        """Keep the arguments; they are checked by ``fit``."""
        self.priority = priority
        self.slack = slack
        self.tasks = tasks
        self.worst_case = worst_case
        self.loss = loss
        self.beyond_limits = beyond_limits
        self.weight_decay = weight_decay
        self.reserve = reserve
        self.hidden = hidden
        self.test_fraction = test_fraction
        self.max_steps = max_steps
        self.tolerance = tolerance
        self.device = device
        self.dtype = dtype
        self.threads = threads
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Train on rows of features X and targets y, which has one column per task; one column has no limit.

        A data frame may have numbers, texts, dates and gaps. An array has numbers; NaN is a gap. In y, a row without a
        value takes no part in that task.
        """
        with _in_one_line():
            if y is None:
                # In scikit-learn's words, which its tools look for.
                raise DataError(f"this {type(self).__name__} requires y to be passed, but the target y is None")
            X = self._checked(X, is_fit=True)
            check_consistent_length(X, y)
            targets = framed(y)
            if targets.shape[1] == 1 and targets.iloc[:, 0].isna().any():
                raise DataError("Input y contains NaN; only where there are several tasks may a row lack one of them")
            columns = task_columns(targets, self._kinds(targets))
            names = [column.name for column in columns]
            priority = _named(self.priority, names)
            arguments = {**self.get_params(deep=False), "tasks": self._options()}
            settings = Settings.of(arguments, priority, names, self._seed())
            table = table_of(X, tuple(column.target(targets[column.name]) for column in columns))
            fitted = fit(table, settings, show_progress=bool(self.verbose))
        self._answer_as_frame_ = isinstance(y, pd.DataFrame)
        self._is_flat_ = not self._answer_as_frame_ and np.asarray(y).ndim == 1
        self._columns_ = columns
        self._model_ = fitted.model
        self._model_.network.double()
        self.tasks_ = names
        self.priority_ = priority
        self.certificate_ = fitted.certificate
        held_out = fitted.certificate["held_out"]
        self.verdicts_ = {} if held_out is None else {name: one["verdict"] for name, one in held_out["tasks"].items()}
        self.thresholds_ = {name: one["threshold"] for name, one in fitted.certificate["tasks"].items()}
        self.weight_decay_ = fitted.weight_decay["weight_decay"]
        self.history_ = fitted.history
        return self

    def predict(self, X: Any) -> Any:
        """What is predicted for every row and task, as y was: one column, an array, or a data frame with its names."""
        answers = self._answers(X)
        meanings = {task.name: task.meaning for task in self._model_.tasks}
        values = {one.name: one.values(answers[one.name], meanings[one.name]) for one in self._columns_}
        if self._answer_as_frame_:
            return pd.DataFrame(values, index=X.index if isinstance(X, pd.DataFrame) else None)
        if self._is_flat_:
            return values[self.tasks_[0]]
        return side_by_side([*values.values()])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of the priority task, or R² where it is a number; `task_scores` has those of all tasks."""
        return self.task_scores(X, y, sample_weight)[self.priority_]

    def task_scores(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
        """The accuracy of each task, or R² where it is a number, on the rows whose target is known."""
        check_is_fitted(self)
        with _in_one_line():
            truths = named_as(framed(y), self.tasks_)
        predicted = framed(self.predict(X)).set_axis(self.tasks_, axis=1)
        return {one.name: score(one, truths[one.name], predicted[one.name], sample_weight) for one in self._columns_}

    @abstractmethod
    def _kinds(self, targets: pd.DataFrame) -> dict[str, Kind | None]:
        """The kind of each task; None: two or more classes, as there are."""

    def _options(self) -> dict[str, Any]:
        """The options of single tasks, by name; the columns of an array may be named by their numbers."""
        return {str(name): options for name, options in (self.tasks or {}).items()}

    def _answers(self, X: Any) -> dict[str, NDArray[np.float64]]:
        """The answers of the network to every task, in float64: a row's answer does not depend on those beside it."""
        check_is_fitted(self)
        with _in_one_line():
            features = features_of(self._checked(X, is_fit=False), self._model_.encoding)
        network = self._model_.network
        with torch.inference_mode():
            blocks = [network(block) for block in torch.split(torch.from_numpy(features), ROWS_AT_A_TIME)]
        outputs, begin, answers = torch.cat(blocks).numpy(), 0, {}
        for task in self._model_.tasks:
            end = begin + len(task.outputs)
            answers[task.name] = outputs[:, begin:end]
            begin = end
        return answers

    def _checked(self, X: Any, *, is_fit: bool) -> Any:
        """X as it is used: a data frame where the model was made from one, else an array or a sparse matrix."""
        if is_fit:
            self._names_ = [str(name) for name in X.columns] if isinstance(X, pd.DataFrame) else None
        if isinstance(X, pd.DataFrame) and self._names_ is not None:
            validate_data(self, X, reset=is_fit, skip_check_array=True)
            if _num_samples(X) < (2 if is_fit else 1):
                raise DataError(f"X has n_samples = {len(X)}, which is too few")
            return X
        array = validate_data(
            self,
            X,
            reset=is_fit,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if is_fit else 1,
        )
        if self._names_ is None:
            return array
        return pd.DataFrame(array.toarray() if issparse(array) else array, columns=self._names_)

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            if self.random_state < 0:
                raise ConfigurationError(f"random_state = {self.random_state} is not valid; choose 0 or more, or None")
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn may ask of it."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _named(priority: str | int | None, names: list[str]) -> str:
    if priority is None:
        return names[0]
    if isinstance(priority, int | np.integer) and not isinstance(priority, bool) and str(priority) not in names:
        if not 0 <= priority < len(names):
            raise ConfigurationError(f"priority = {priority} is not valid; y has {len(names)} columns, counted from 0")
        return names[priority]
    return str(priority)


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Raise input errors as scikit-learn does, with the estimator's own names for parameters."""
    try:
        yield
    except InputError as error:
        raise ValueError(_BLOCK.sub("", str(error))) from error
