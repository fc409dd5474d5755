"""The blocks of the walks are parts of files: ``tests/test_walks.py`` puts them there."""

collect_ignore = ["walks.md"]
