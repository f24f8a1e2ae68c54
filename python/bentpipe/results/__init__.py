"""Results: run folders and their tables, flows with predictions, groups, comparisons, captures, and
waits."""
