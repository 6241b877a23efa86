"""One extension of each kind, as a contributor would write it; `tests/test_extensions.py` adds them to a project."""
