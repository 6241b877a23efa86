"""What results were made with, and where they and the warnings of a run are kept."""
