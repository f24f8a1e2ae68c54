"""Runs real commands, networks, proxies and test beds for tests, benchmarks and the manual's
blocks."""
