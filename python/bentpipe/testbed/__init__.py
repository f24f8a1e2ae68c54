"""The web test bed: a laboratory that a group shares in a browser.

Two processes and a database between them. The web process (:mod:`bentpipe.testbed.api`) has no privilege and starts
no program: it checks scenarios, and writes runs into the queue. The executor (:mod:`bentpipe.testbed.executor`)
takes runs from the queue and does each in a process of its own with limits. ``bentpipe serve`` starts both.
"""
