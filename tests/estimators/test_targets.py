"""The kinds of the columns of Y."""

import pandas as pd

from idbpd.estimators.targets import inferred_kind_of, task_columns


def test_spellings_are_values_of_their_own() -> None:
    # In a file, Yes and yes are one value. Here an answer is written as in Y, and nothing is renamed.
    cells = pd.Series(["Yes", "yes", "no"] * 20, name="answer")
    assert inferred_kind_of(cells) == "classes"
    assert inferred_kind_of(cells.str.lower()) == "binary"
    (column,) = task_columns(cells.to_frame(), {"answer": inferred_kind_of(cells)})
    assert column.classes is not None
    assert column.classes.tolist() == ["Yes", "no", "yes"]
