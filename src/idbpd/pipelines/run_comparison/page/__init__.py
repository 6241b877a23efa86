"""The comparison of runs as one HTML page."""
