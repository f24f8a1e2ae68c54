"""Networks that live on this machine: programs in hosts behind an emulated link, and what is known of who lives.

``target`` says what is to live, ``living`` keeps it alive in this process, ``keeper`` in a process of its own;
``state`` is where they are registered, ``ending`` removes them, also those whose process was killed.
"""
