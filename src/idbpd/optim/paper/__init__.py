"""Algorithm 1 of the paper as written, with its schedules and its fixed numbers of ascent steps."""
