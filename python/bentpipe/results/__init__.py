"""Results: run folders and their tables, flows beside predictions, groups, comparisons, captures, and waits."""
