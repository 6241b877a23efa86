"""What is true of a function over a whole set, read from the torch operations that it consists of."""
