"""HTML pages without anything to load: markup, drawings and the two charts that the report and comparisons share."""
