"""Composed images: two pictures on one canvas, as in Multi-MNIST."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.table import Origin, TaskTable
from idbpd.errors import ConfigurationError

POSITIONS = ("top_left", "bottom_right")


def compose_pairs(
    images: NDArray[np.integer | np.floating],
    classes: NDArray[np.integer],
    *,
    brightest: float,
    pairs: int,
    offset: int,
    groups: int,
    seed: int,
    class_names: Sequence[str] | None = None,
) -> TaskTable:
    """Put two different images on one canvas: one at the top left, one ``offset`` pixels down and right.

    Where they overlap the brighter pixel wins; pixels are divided by ``brightest``. The labels of a pair are the
    classes of both images (one label if both have the same class). The images are first divided at random into
    ``groups``, and both images of a pair come from the same group. A split that keeps groups whole therefore never uses
    a test image in training; with pairs drawn from one pool it would.
    """
    if len(images) < 2 * groups:
        raise ConfigurationError(
            f"{len(images)} images are too few for pairs in {groups} groups; each group needs at least 2"
        )
    generator = np.random.default_rng(seed)
    dealt = np.array_split(generator.permutation(len(images)), groups)
    shares = [len(part) for part in np.array_split(np.arange(pairs), groups)]
    drawn = np.concatenate(
        [
            np.stack([generator.choice(members, size=2, replace=False) for _ in range(share)])
            for members, share in zip(dealt, shares, strict=True)
        ]
    )
    height, width = images.shape[1:]
    canvas = np.zeros((pairs, height + offset, width + offset), dtype=images.dtype)
    canvas[:, :height, :width] = images[drawn[:, 0]]
    lower = canvas[:, offset:, offset:]
    np.maximum(lower, images[drawn[:, 1]], out=lower)

    values = np.unique(classes)
    shown = np.searchsorted(values, classes[drawn])
    labels = np.zeros((pairs, len(values)), dtype=np.int8)
    labels[np.arange(pairs)[:, None], shown] = 1
    return TaskTable(
        features=canvas.reshape(pairs, -1).astype(np.float32) / np.float32(brightest),
        feature_names=tuple(
            f"pixel_{row}_{column}" for row in range(height + offset) for column in range(width + offset)
        ),
        labels=labels,
        label_names=_class_names(values, class_names),
        groups=np.repeat(np.arange(groups, dtype=np.int64), shares),
        positions={position: shown[:, at].astype(np.int64) for at, position in enumerate(POSITIONS)},
        origin=Origin("the table of composed images"),
        content="images",
    )


def _class_names(values: NDArray[np.integer], names: Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return tuple(str(value) for value in values)
    if len(names) != len(values):
        raise ConfigurationError(f"class_names has {len(names)} names, but the images are of {len(values)} classes")
    return tuple(names)
