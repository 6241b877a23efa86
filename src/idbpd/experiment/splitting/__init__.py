"""From a table to parts with tasks: which rows, which labels, which scale."""
