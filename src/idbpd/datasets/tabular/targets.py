"""Make the targets of a task from its columns; its kind is found from their values if it is not stated."""

import logging
import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.table import Origin, Target
from idbpd.datasets.tabular.column_names import LABEL_PREFIX
from idbpd.datasets.tabular.numeral import in_digits, is_number
from idbpd.datasets.tabular.task_block import SEVERAL, TaskBlock
from idbpd.datasets.tabular.two_values import FALSE, TRUE, given_positive, likely_positive
from idbpd.datasets.tabular.values import Values
from idbpd.errors import DataError
from idbpd.mtl.kinds import Kind

logger = logging.getLogger(__name__)

FEW = 10  # whole numbers with at most so many different values are classes
ROWS_PER_CLASS = 5  # if there are so many rows for each on average: 9 different waists of 20 people are no classes
MOST_CLASSES = 1000
FAR = 10  # a number is far from the others if it is so many times their spread away from them
# The end of a name of a column whose numbers are names.
CODES = re.compile(
    r"(?i)(?:^|[\W_])(?:code|class|category|cluster|segment|type|zip|plz)$|(?<=[a-z])(?:Code|Class|Type)$"
)
SHOWN = 8  # values are named in a message
MUCH_MISSING = 0.2  # this share of rows without a target is worth a warning


def make_target(block: TaskBlock, columns: Mapping[str, Values], origin: Origin) -> Target:
    """The targets of a task, checked; one line of the log says what they are."""
    if len(block.columns) > 1 or block.kind in SEVERAL:
        target, told = _several(block, columns, origin)
    else:
        target, told = _single(block, columns[block.columns[0]], origin)
    gaps = sorted({word for column in block.columns for word in columns[column].gaps})
    _say(target, block, told, gaps)
    return target


def zeros_and_ones(values: Values, origin: Origin, what: str) -> NDArray[np.float32]:
    """A column of 0/1, yes/no or true/false as numbers, NaN where it is missing."""
    codes, words = values.distinct
    meanings = np.full(len(words) + 1, np.nan, dtype=np.float32)  # the last is that of the code -1
    for code, word in enumerate(words):
        if word.lower() not in TRUE | FALSE:
            place = origin.of(values.first_row_of(code))
            raise DataError(f"{place}: {what} is {word!r}; a label is 0 or 1, yes or no, true or false")
        meanings[code] = word.lower() in TRUE
    return meanings[codes]


def _several(block: TaskBlock, columns: Mapping[str, Values], origin: Origin) -> tuple[Target, str]:
    names = tuple(name.removeprefix(LABEL_PREFIX) for name in block.columns)
    matrix = np.empty((len(next(iter(columns.values())).known), len(names)), dtype=np.float32)
    for at, column in enumerate(block.columns):
        matrix[:, at] = zeros_and_ones(columns[column], origin, f"task {block.name!r}: label {names[at]!r}")
        known = matrix[~np.isnan(matrix[:, at]), at]
        if len(known) == 0:
            raise DataError(f"{origin.name}: task {block.name!r}: label {names[at]!r} has no value in any row")
        if known.min() == known.max():
            raise DataError(
                f"{origin.name}: task {block.name!r}: label {names[at]!r} is {known[0]:g} in all {len(known)} rows; "
                "it must be 0 in some rows and 1 in others"
            )
    kind: Kind = block.kind or "labels"
    return Target(
        block.name, kind, names, matrix, options=block.options
    ), f"{len(names)} label{'s' if len(names) > 1 else ''}"


def _single(block: TaskBlock, values: Values, origin: Origin) -> tuple[Target, str]:
    codes, words = values.distinct
    known = int(values.known.sum())
    task = f"{origin.name}: task {block.name!r}: column {values.name!r}"
    if values.content == "unreadable":
        raise DataError(f"{task} holds {words[0]}; a task predicts numbers, texts, or yes and no")
    if known == 0:
        raise DataError(f"{task} has no value in any row")
    if len(words) == 1:
        raise DataError(f"{task} is {words[0]!r} in all {known} rows that have a value; a task needs two values")
    kind = block.kind or inferred_kind(block, values, task)
    if kind == "number":
        return _number(block, values, origin)
    if kind == "binary":
        return _binary(block, values, task)
    counts = values.counts()
    if len(words) > min(MOST_CLASSES, known // 2):
        if counts.max() == 1:
            raise DataError(f"{task} has another value in every row; each class needs several rows to learn from")
        raise DataError(
            f"{task} has {len(words)} different values in {known} rows, too many for classes "
            f"(at most {min(MOST_CLASSES, known // 2)}), such as {words[0][:40]!r}; {values.remark or _instead(values)}"
        )
    alone = [word for word, count in zip(words, counts, strict=True) if count == 1]
    if alone:
        logger.warning(
            "task %r: %s in one row only, which cannot be in the training part and in the test part",
            block.name,
            f"the class {alone[0]!r} is" if len(alone) == 1 else f"{len(alone)} classes ({_few(alone)}) are",
        )
    matrix = np.zeros((len(codes), len(words)), dtype=np.float32)
    matrix[np.arange(len(codes)), codes] = 1
    matrix[codes < 0] = np.nan
    told = f"{len(words)} classes ({_few(words)})"
    return Target(block.name, "classes", words, matrix, options=block.options), told


def inferred_kind(block: TaskBlock, values: Values, task: str) -> Kind:
    """The kind of a task that states none, from the values of its column; ``task`` names both in errors."""
    words = values.distinct[1]
    if block.positive is not None or len(words) == 2:
        return "binary"
    if values.content == "date":
        raise DataError(f"{task} holds dates; a task predicts numbers, classes, or yes and no: make a number of days")
    few = len(words) <= min(FEW, int(values.known.sum()) / ROWS_PER_CLASS)
    if values.content == "number" and not (values.integers and few):
        if values.integers and CODES.search(values.name):
            logger.warning(
                "%s has whole numbers and is read as a number, but its name says that they are codes: if so, set "
                "kind: classes",
                task,
            )
        return "number"
    if values.remark is not None:
        raise DataError(f"{task}: {values.remark}; if they are classes, set kind: classes")
    return "classes"


def _number(block: TaskBlock, values: Values, origin: Origin) -> tuple[Target, str]:
    name = f"task {block.name!r}: column {values.name!r}"
    if values.content != "number" or values.numbers is None:
        code = next((at for at, word in enumerate(values.distinct[1]) if not is_number(word)), 0)
        place = origin.of(values.first_row_of(code))
        raise DataError(
            f"{place}: {name} is {values.distinct[1][code]!r}, which is not a number"
            + (f": {values.remark}" if values.remark else "; words for a missing value are listed under 'missing'")
        )
    infinite = np.flatnonzero(np.isinf(values.numbers))
    if len(infinite):
        raise DataError(f"{origin.of(infinite[0])}: {name} is infinite; numbers must be finite")
    with np.errstate(over="ignore"):
        matrix = values.numbers.astype(np.float32)[:, None]
    large = np.flatnonzero(np.isinf(matrix[:, 0]))
    if len(large):
        raise DataError(f"{origin.of(large[0])}: {name} is {values.numbers[large[0]]:g}, which is too large")
    _warn_of_far(block, values.numbers[values.known])
    told = f"a number from {in_digits(np.nanmin(values.numbers))} to {in_digits(np.nanmax(values.numbers))}"
    return Target(block.name, "number", (values.name,), matrix, options=block.options), told


def _warn_of_far(block: TaskBlock, numbers: NDArray[np.float64]) -> None:
    """Warn of numbers so far from the others that they alone decide what is learnt."""
    low, middle, high = np.quantile(numbers, [0.05, 0.5, 0.95])
    far = np.maximum(low - numbers, numbers - high) > FAR * (high - low)
    if high > low and far.any() and "loss" not in block.options:
        largest = numbers[np.abs(numbers - middle).argmax()]
        logger.warning(
            "task %r: %d of %d values are far from all others, such as %s (nine of ten are from %s to %s), and "
            "outweigh them in a squared error: correct them if they are wrong, or soften them with tasks.%s.loss=huber",
            block.name,
            far.sum(),
            len(numbers),
            *map(in_digits, (largest, low, high)),
            block.name,
        )


def _binary(block: TaskBlock, values: Values, task: str) -> tuple[Target, str]:
    codes, words = values.distinct
    if block.positive is not None:
        positive = given_positive(block.positive, words, task)
    elif len(words) == 2:
        positive = likely_positive(words, values.counts())
    else:
        raise DataError(f"{task} has {len(words)} values ({_few(words)}); say which is yes: positive: {words[0]}")
    other = words[1 - positive] if len(words) == 2 else f"not {words[positive]}"
    matrix = np.where(codes < 0, np.nan, codes == positive).astype(np.float32)[:, None]
    count = int(values.counts()[positive])
    if min(count, int(values.known.sum()) - count) == 1:
        logger.warning(
            "task %r: %r is in one row only, which cannot be in the training part and in the test part",
            block.name,
            words[positive] if count == 1 else other,
        )
    told = f"yes is {words[positive]!r} ({count / values.known.sum():.1%} of the rows), no is {other!r}"
    return Target(block.name, "binary", (words[positive],), matrix, other, block.options), told


def _say(target: Target, block: TaskBlock, told: str, gaps: list[str]) -> None:
    missing = int((~target.known).sum())
    have, take = ("has", "takes") if missing == 1 else ("have", "take")
    rest = f"; {missing} of {len(target.known)} rows {have} no value and {take} no part" if missing else ""
    if missing and gaps:
        rest += f" (missing values are written as {', '.join(map(repr, gaps))}; if one is a value, see 'not_missing')"
    logger.log(
        logging.WARNING if missing >= MUCH_MISSING * len(target.known) else logging.INFO,
        "task %r: column%s %s, kind %s: %s%s",
        target.task,
        "s" if len(block.columns) > 1 else "",
        ", ".join(block.columns),
        target.kind,
        told,
        rest,
    )


def _few(words: tuple[str, ...] | list[str]) -> str:
    """All of them, or the first ones where they are many."""
    return ", ".join(words) if len(words) <= SHOWN else f"{', '.join(words[: SHOWN - 3])}, ..."


def _instead(values: Values) -> str:
    if values.content == "number":
        return "set kind: number"
    return "a name, an identifier or free text cannot be predicted"
