"""Numbers as words: whether a word is one to Python, and how one is written for people."""

PLAIN = 1e9  # larger numbers have an exponent


def is_number(word: str) -> bool:
    """Whether a word can be read as a number, also as ``nan`` or ``1e3``."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def in_digits(number: float, digits: int = 6) -> str:
    """A number with so many digits that say something, and without an exponent unless it is very large or small.

    >>> in_digits(1298680.4), in_digits(42119.7, 4), in_digits(2.3149, 4), in_digits(1e-7), in_digits(3e12, 4)
    ('1298680', '42120', '2.315', '1e-07', '3e+12')
    """
    written = f"{number:.{digits}g}"
    return f"{float(written):.0f}" if "e+" in written and abs(number) < PLAIN else written
