"""What several pipelines share: from parameters and data to a solved problem and its certificate."""
