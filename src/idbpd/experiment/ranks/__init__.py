"""The ranks of a run: processes that hold the samples, and what the run says to them."""
