from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from idbpd.datasets import ComposedDigitsDataset
from idbpd.datasets.composition import compose_pairs
from idbpd.errors import ConfigurationError
from idbpd.experiment.splitting.fingerprint import data_sha256


def _images(count: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images of one constant brightness each, which tells them apart on the canvas."""
    brightness = np.arange(1, count + 1, dtype=np.uint8)
    return np.broadcast_to(brightness[:, None, None], (count, 4, 4)).copy(), np.arange(count) % 10


def _compose(count: int, **recipe: Any) -> tuple[NDArray[np.float32], Any]:
    images, classes = _images(count)
    table = compose_pairs(images, classes, brightest=1, offset=1, seed=0, **recipe)
    return table.dense_features(slice(None)).reshape(-1, 5, 5), table


def test_two_different_images_share_a_canvas_and_the_brighter_pixel_wins() -> None:
    canvas, table = _compose(20, pairs=50, groups=2)
    top_left, bottom_right = canvas[:, 0, 0], canvas[:, -1, -1]
    assert (top_left != bottom_right).all()
    np.testing.assert_array_equal(canvas[:, 2, 2], np.maximum(top_left, bottom_right))
    assert (canvas[:, 0, -1] == 0).all()
    for row in range(50):
        expected = {int(top_left[row] - 1) % 10, int(bottom_right[row] - 1) % 10}
        assert set(np.flatnonzero(table.labels[row])) == expected


def test_positions_say_which_class_stands_where() -> None:
    canvas, table = _compose(20, pairs=50, groups=2)
    np.testing.assert_array_equal(table.positions["top_left"], (canvas[:, 0, 0] - 1) % 10)
    np.testing.assert_array_equal(table.positions["bottom_right"], (canvas[:, -1, -1] - 1) % 10)


def test_groups_share_no_image() -> None:
    canvas, table = _compose(40, pairs=100, groups=4)
    used = [
        set(canvas[table.groups == group][:, 0, 0]) | set(canvas[table.groups == group][:, -1, -1])
        for group in range(4)
    ]
    assert all(not used[a] & used[b] for a in range(4) for b in range(a))


def test_the_recipe_decides_the_table() -> None:
    first, again = ComposedDigitsDataset(pairs=60, seed=1).load(), ComposedDigitsDataset(pairs=60, seed=1).load()
    other = ComposedDigitsDataset(pairs=60, seed=2).load()
    assert data_sha256(first) == data_sha256(again)
    assert data_sha256(first) != data_sha256(other)


def test_multi_digits_is_the_same_on_every_machine() -> None:
    table = ComposedDigitsDataset(pairs=4000, seed=0).load()
    assert data_sha256(table) == "ca079409edc54333dff1b28ccd9da65008833cf7e5460790ee6e7253ee925853"


def test_multi_digits_is_what_it_says() -> None:
    table = ComposedDigitsDataset(pairs=300, seed=0).load()
    pixels = table.dense_features(slice(None))
    assert pixels.shape == (300, 100)
    assert table.label_names == tuple("0123456789")
    assert pixels.min() == 0
    assert pixels.max() == pytest.approx(1)
    assert load_digits().images.max() == 16
    assert set(table.labels.sum(axis=1)) == {1, 2}


def test_bad_recipes_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="20 images are too few for pairs in 11 groups"):
        _compose(20, pairs=50, groups=11)
    with pytest.raises(ConfigurationError, match="class_names has 2 names, but the images are of 10 classes"):
        _compose(20, pairs=50, groups=2, class_names=["a", "b"])
