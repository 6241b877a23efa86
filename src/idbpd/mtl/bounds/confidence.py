"""The range of a confidence."""


def check_confidence(confidence: float) -> None:
    """Reject a confidence outside (0, 1): a bound that is never wrong would be infinite."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}")
