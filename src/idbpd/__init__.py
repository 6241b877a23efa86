"""Robust multi-task training under worst-case constraints, with a certificate."""

__version__ = "0.1.0"
