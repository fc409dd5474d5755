"""The reference site: code for `make docs`, besides the pages in docs/."""
