import numpy as np
import pytest
from sklearn.datasets import load_digits

from idbpd.datasets import ComposedDigitsDataset
from idbpd.datasets.composition import compose_pairs
from idbpd.datasets.table import feature_columns, label_columns


def _images(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of one constant brightness each, which tells them apart on the canvas."""
    brightness = np.arange(1, count + 1, dtype=np.float32)
    return np.broadcast_to(brightness[:, None, None], (count, 4, 4)).copy(), np.arange(count) % 10


def test_two_different_images_share_a_canvas_and_the_brighter_pixel_wins() -> None:
    images, digits = _images(20)
    table = compose_pairs(images, digits, pairs=50, offset=1, groups=2, seed=0)
    canvas = table[feature_columns(table)].to_numpy().reshape(50, 5, 5)
    top_left, bottom_right = canvas[:, 0, 0], canvas[:, -1, -1]
    assert (top_left != bottom_right).all()
    np.testing.assert_array_equal(canvas[:, 2, 2], np.maximum(top_left, bottom_right))
    assert (canvas[:, 0, -1] == 0).all()
    labels = table[label_columns(table)].to_numpy()
    for row in range(50):
        expected = {int(top_left[row] - 1) % 10, int(bottom_right[row] - 1) % 10}
        assert set(np.flatnonzero(labels[row])) == expected


def test_groups_share_no_image() -> None:
    images, digits = _images(40)
    table = compose_pairs(images, digits, pairs=100, offset=1, groups=4, seed=0)
    canvas = table[feature_columns(table)].to_numpy().reshape(100, 5, 5)
    used = [
        set(canvas[table["group"] == group][:, 0, 0]) | set(canvas[table["group"] == group][:, -1, -1])
        for group in range(4)
    ]
    assert all(not used[a] & used[b] for a in range(4) for b in range(a))


def test_the_recipe_decides_the_table() -> None:
    first, again = ComposedDigitsDataset(pairs=60, seed=1).load(), ComposedDigitsDataset(pairs=60, seed=1).load()
    other = ComposedDigitsDataset(pairs=60, seed=2).load()
    assert first.equals(again)
    assert not first.equals(other)


def test_multi_digits_is_what_it_says() -> None:
    table = ComposedDigitsDataset(pairs=300, seed=0).load()
    assert (len(table), len(feature_columns(table)), len(label_columns(table))) == (300, 100, 10)
    pixels = table[feature_columns(table)].to_numpy()
    assert pixels.min() == 0
    assert pixels.max() == pytest.approx(1)
    assert load_digits().images.max() == 16
    assert set(table[label_columns(table)].sum(axis=1)) == {1, 2}
