"""Commands, networks, proxies and test beds that run for real: for tests, benchmarks and the blocks of the manual."""
