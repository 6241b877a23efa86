import numpy as np
from scipy.sparse import csr_array

from idbpd.datasets.table import TaskTable
from idbpd.experiment.features import scaling_for
from tests.experiment.features.tables import mixed_table


def test_what_auto_means_depends_on_the_table() -> None:
    dense, labels = np.zeros((2, 1), dtype=np.float32), np.zeros((2, 0), dtype=np.int8)
    assert scaling_for(mixed_table()) == "standard"
    assert scaling_for(TaskTable(dense, ("x",), labels, ())) == "standard"
    assert scaling_for(TaskTable(dense, ("x",), labels, (), content="images")) == "none"
    assert scaling_for(TaskTable(csr_array(dense), ("x",), labels, ())) == "maximum"
    assert scaling_for(mixed_table(), "minmax") == "minmax"
