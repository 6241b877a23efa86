"""Shares in words, for the sentences that say what a worst case protects."""

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
