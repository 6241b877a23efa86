"""Kedro pipelines: thin nodes that build the problem, call the layers below and return data."""
