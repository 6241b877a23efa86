"""Shares in words, for the sentences that say what a worst case protects."""

import math

NAMED = {2: "half", 3: "third", 4: "quarter", 5: "fifth", 10: "tenth", 20: "twentieth", 100: "hundredth"}


def part_of(share: float) -> str:
    """A share by its name, or else in per cent.

    >>> part_of(0.2), part_of(1 / 3), part_of(0.15)
    ('fifth', 'third', '15 %')
    """
    for parts, name in NAMED.items():
        if abs(share * parts - 1) < 1e-3:
            return name
    return percent(share)


def percent(share: float) -> str:
    """A share in per cent, with as many digits as tell it.

    >>> percent(0.2), percent(1 / 3), percent(0.00123)
    ('20 %', '33.3 %', '0.123 %')
    """
    return f"{100 * share:.3g} %"


def rounded_up(number: float) -> str:
    """The next number with three digits that is not below a positive one.

    >>> rounded_up(1 / 8), rounded_up(1 / 3), rounded_up(1 / 40_001)
    ('0.125', '0.334', '2.5e-05')
    """
    digit = 10.0 ** (math.floor(math.log10(number)) - 2)
    return f"{math.ceil(number / digit * (1 - 1e-9)) * digit:.3g}"
