"""From parameters to a solved problem: what every pipeline shares, and none of them owns."""
