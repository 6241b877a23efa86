"""Inner maximisation: the worst case over y or w of a function that only autograd knows."""
