"""What a confidence may be."""


def check_confidence(confidence: float) -> None:
    """Reject what is no probability below one: a bound that is never wrong would be infinite."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}")
