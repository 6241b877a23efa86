"""What pipelines hand to tracking, and what tracking hands back to them."""
