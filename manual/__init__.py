"""The reference site: what `make docs` needs besides the pages in docs/."""
