"""Composed images: two pictures on one canvas, as Multi-MNIST is made."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from idbpd.datasets.table import GROUP_COLUMN, LABEL_PREFIX


def compose_pairs(
    images: NDArray[np.floating],
    digits: NDArray[np.integer],
    *,
    pairs: int,
    offset: int,
    groups: int,
    seed: int,
) -> pd.DataFrame:
    """Put two different images on one canvas: one at the top left, one ``offset`` pixels down and right.

    Where they overlap the brighter pixel wins. The labels of a pair are the classes of both images (one label when
    they agree). The images are first dealt at random into ``groups``, and both images of a pair come from the same
    group: a split that keeps groups together never shows a test image in training, which a split of pairs drawn from
    one pool would.
    """
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
    canvas = np.zeros((2, pairs, height + offset, width + offset), dtype=np.float32)
    canvas[0, :, :height, :width] = images[drawn[:, 0]]
    canvas[1, :, offset:, offset:] = images[drawn[:, 1]]
    pixels = canvas.max(axis=0)

    names = [f"pixel_{row}_{column}" for row in range(pixels.shape[1]) for column in range(pixels.shape[2])]
    table = pd.DataFrame(pixels.reshape(pairs, -1), columns=names)
    labels = pd.DataFrame(
        {f"{LABEL_PREFIX}{value}": (digits[drawn] == value).any(axis=1).astype(np.int8) for value in np.unique(digits)}
    )
    table = pd.concat([table, labels], axis=1)
    table[GROUP_COLUMN] = np.repeat(np.arange(groups, dtype=np.int32), shares)
    return table
