"""The manual: extensions of Sphinx for the site, and a pytest plug-in that runs the blocks of its
pages."""
