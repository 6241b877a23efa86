"""Kedro hooks: checks before a run, and the printed summary after it."""
