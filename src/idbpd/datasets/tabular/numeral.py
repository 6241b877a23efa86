"""Whether a word is a number to Python."""


def is_number(word: str) -> bool:
    """Whether a word can be read as a number, also as ``nan`` or ``1e3``."""
    try:
        float(word)
    except ValueError:
        return False
    return True
