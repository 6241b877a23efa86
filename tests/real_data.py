"""The published files, where the machine has them: ``IDBPD_DATA`` names their folder."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("IDBPD_DATA", "data/01_raw")).absolute()
NEEDED = ("chd49/CHD_49.arff", "yeast/Yeast.arff", "20ng/20NG.arff", "mnist/train-images-idx3-ubyte.gz")

needs_real_data = pytest.mark.skipif(
    not all((ROOT / name).exists() for name in NEEDED),
    reason="the published data are not here; set IDBPD_DATA to a folder that has them",
)

needs_tables = pytest.mark.skipif(
    not all((ROOT / name).exists() for name in ("adult/adult.data", "adult/adult.test", "student/student-mat.csv")),
    reason="the published tables (adult, student) are not here; set IDBPD_DATA to a folder that has them",
)
