"""One solve of a run: its states on disk, its progress, its history, and how it ended."""
