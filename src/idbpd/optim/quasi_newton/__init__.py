"""The default method: sequential quadratic programming on an exact penalty function, in an L-BFGS metric."""
