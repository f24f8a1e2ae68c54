"""The manual: the site that Sphinx builds from ``docs``, and the test that its blocks run."""
