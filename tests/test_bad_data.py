"""A bad file ends a run in one line that names the file and the line, before anything is trained."""

import gzip
import shutil

import numpy as np
import pytest

from idbpd.datasets.idx import render_idx
from tests.kedro_project import KedroProject
from tests.real_data import ROOT, needs_real_data

HEADER = """@relation mine
@attribute x numeric
@attribute y numeric
@attribute a {0,1}
@attribute b {0,1}
@data
"""
ROWS = """1,2,0,1
3,4,1,0
5,6,1,1
"""
ARFF = HEADER + 7 * ROWS
BLOCK = """mine:
  type: idbpd.datasets.ArffDataset
  filepath: data/01_raw/mine.arff
  labels: [a, b]
"""


class _Broken:
    """A project whose raw data a test breaks."""

    def __init__(self, project: KedroProject) -> None:
        self.project = project
        self.raw = project.data / "01_raw"
        self.raw.mkdir(parents=True)

    def error_of(self, params: str) -> str:
        """Run, and return the one line that says what is wrong."""
        output = self.project.kedro("run", params=params, exit_code=1)
        assert "Traceback" not in output
        (line,) = [line for line in output.splitlines() if line.startswith("Error: ")]
        assert not (self.project.data / "06_models").exists()
        return line

    def describe(self, block: str) -> None:
        self.project.configure("sources.yml", block)


@pytest.fixture
def mine(project: KedroProject) -> _Broken:
    project.configure("mlflow.yml", "enabled: false\n")
    return _Broken(project)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("5,6,1,1", "5,6,1,1,1", "mine.arff, line 9: the row has 5 values, expected 4"),
        ("5,6,1,1", "5,1e39,1,1", "mine.arff, line 9: feature 'y' is infinite; numbers must be finite"),
        (7 * ROWS, ROWS, "mine.arff has 3 rows; at least 20 are needed to train a model on some and to judge it on"),
        ("1,2,0,1", "1,2,1,1", "mine.arff: label 'a' is 1 in all 21 rows; it must be 0 in some rows and 1 in others"),
        ("b {0,1}", "b {no,yes}", "mine.arff, line 5: label 'b' has the values {no, yes}; a label has {0,1}"),
        (ARFF, "", "mine.arff: the file is empty"),
    ],
)
def test_arff(mine: _Broken, old: str, new: str, message: str) -> None:
    mine.describe(BLOCK)
    (mine.raw / "mine.arff").write_text(ARFF.replace(old, new))
    assert message in mine.error_of("dataset=mine")


def test_a_missing_file_and_a_bad_block(mine: _Broken) -> None:
    mine.describe(BLOCK)
    assert "cannot read " in mine.error_of("dataset=mine")
    (mine.raw / "mine.arff").write_text(ARFF)
    mine.describe(BLOCK + "  labels_file: mine.xml\n")
    assert "both 'labels' and 'labels_file' name the labels" in mine.error_of("dataset=mine")
    mine.describe(BLOCK + "  validator: {class: idbpd.datasets.TableValidator, options: {samples: 555}}\n")
    assert "mine.arff has 21 samples, expected 555: is it another file?" in mine.error_of("dataset=mine")
    mine.describe("mine: data/01_raw/mine.arff\n")
    assert "the data set 'mine' needs a block with a 'type', it has: 'data/01" in mine.error_of("dataset=mine")
    mine.describe(BLOCK + "  label: [a]\n")
    assert "the data set 'mine': unknown key 'label'; did you mean 'labels'?" in mine.error_of("dataset=mine")
    mine.describe(BLOCK.replace("idbpd.datasets.ArffDataset", "idbpd.datasets.ArfDataset"))
    assert "the data set 'mine': " in mine.error_of("dataset=mine")
    mine.describe(BLOCK.replace("data/01_raw", "gopher://somewhere"))
    assert "cannot open gopher://somewhere/mine.arff: Protocol not known: gopher" in mine.error_of("dataset=mine")
    mine.describe(BLOCK)
    error = mine.error_of("dataset=mine,split.by=position")
    assert "has no positions; only composed images do: use by: label" in error


def test_a_label_file_that_names_another_label(mine: _Broken) -> None:
    mine.describe(BLOCK.replace("labels: [a, b]", "labels_file: mine.xml"))
    (mine.raw / "mine.arff").write_text(ARFF)
    (mine.raw / "mine.xml").write_text('<labels>\n<label name="a"/>\n<label name="c"/>\n</labels>')
    error = mine.error_of("dataset=mine")
    assert "mine.xml, line 3 names 'c', but " in error
    assert "mine.arff has no such attribute" in error


def test_images(mine: _Broken) -> None:
    folder = mine.raw / "mnist"
    folder.mkdir()
    images, classes = folder / "train-images-idx3-ubyte.gz", folder / "train-labels-idx1-ubyte.gz"
    good = gzip.compress(render_idx(np.zeros((30, 28, 28), dtype=np.uint8)))
    classes.write_bytes(gzip.compress(render_idx(np.arange(20, dtype=np.uint8))))
    for content, message in (
        (good[:-20], "train-images-idx3-ubyte.gz: the gzip stream is cut off after "),
        (b"\0\0\x07\x03" + bytes(12), "train-images-idx3-ubyte.gz: not an IDX file: it begins with 00 00 07 03"),
        (good, "train-labels-idx1-ubyte.gz has shape (20,); expected bytes of shape (images, height, width) and a"),
    ):
        images.write_bytes(content)
        assert message in mine.error_of("dataset=multi_mnist")


@needs_real_data
def test_a_published_file_that_lacks_one_sample_is_refused(mine: _Broken) -> None:
    shutil.copytree(ROOT / "chd49", mine.raw / "chd49")
    path = mine.raw / "chd49" / "CHD_49.arff"
    path.chmod(0o600)
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    assert "CHD_49.arff has 554 samples, expected 555: is it another file?" in mine.error_of("dataset=chd49")


def test_tasks_in_the_parameters(mine: _Broken) -> None:
    mine.describe(BLOCK)
    (mine.raw / "mine.arff").write_text(ARFF)
    mine.project.configure("parameters.yml", "split:\n  tasks: {one: [a], two: [c]}\n")
    assert "Error: task 'two': there is no label 'c'; labels are a, b" in mine.error_of("dataset=mine")
    mine.project.configure("parameters.yml", "split:\n  tasks: {one: [a], two: [1.5]}\n")
    assert "parameter 'split.tasks.two" in mine.error_of("dataset=mine")
