"""Scenarios: loading, facts of their paths, starters, variations, and the summary that ``bentpipe
check`` prints."""
