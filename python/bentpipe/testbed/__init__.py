"""The web test bed: a laboratory that a group shares in a browser.

Two processes communicate through a database. The web process (:mod:`bentpipe.testbed.api`) has no
privileges and starts no programs: it checks scenarios, and writes runs into the queue. The executor
(:mod:`bentpipe.testbed.executor`) takes runs from the queue and executes each in its own process
with limits. ``bentpipe serve`` starts both.
"""
