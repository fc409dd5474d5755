"""Sphinx's configuration; `make docs` runs it, after `python -m manual.assets`."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import symdiff  # noqa: E402
from manual.assets import STATIC  # noqa: E402

project = "symdiff"
author = "the symdiff developers"
release = symdiff.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "myst_nb",
    "manual.extension",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "docs/**.rst",
    "notebooks/*.ipynb",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "CHANGELOG.md",
]
exclude_patterns = [
    ".*",
    "benchmarks",
    "build",
    "dist",
    "manual",
    "numeric",
    "out",
    "symdiff",
    "tests",
]

# Write links in the pages so that they work in the repository.
myst_heading_anchors = 4
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_fence_as_directive = ["mermaid"]
nb_execution_mode = "off"
nb_render_markdown_format = "myst"
nb_ipywidgets_js = {}  # widgets need a kernel and scripts from a network: pages show the rest
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]
nb_custom_formats = {".ipynb": "manual.extension.read_notebook"}

autodoc_member_order = "alphabetical"
autodoc_typehints = "signature"
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries = False
napoleon_numpy_docstring = False
napoleon_use_ivar = True

nitpicky = True
nitpick_ignore_regex = [("py:class", r".*")]  # types in signatures, mostly internal ones

html_theme = "furo"
html_title = "symdiff"
html_static_path = ["static", str(STATIC)]
html_css_files = ["manual.css"]
html_extra_path = ["extra"]
html_copy_source = False
html_show_copyright = False
mathjax_path = "mathjax.js"
# As in JupyterLab, dollars are formulas in the HTML of outputs, unless a class forbids it.
myst_mathjax_classes = "tex2jax_process|mathjax_process|math|output_area|text_html"
mathjax3_config = {"tex": {"inlineMath": [["\\(", "\\)"], ["$", "$"]]}}
pygments_style = "friendly"
pygments_dark_style = "monokai"
