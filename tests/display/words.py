"""Words of the implementation, which a formula never shows; each has mathematics that says it."""

import re

INTERNAL = {
    "strong": "the product; where it must stay 0, a condition",
    "strong_both": "the product",
    "unslice": "components, blocks, or an element with a condition in brackets",
    "gather": "elements by subscripts",
    "scatter": "components, or a sum over the places that are equal",
    "index": "the subscripts themselves",
    "full": "ones, times a number",
    "fill": "ones, times a number",
    "norm_sqrt": "norm",
    "logabsdet": "log(abs(det(A)))",
    "detsign": "slogdet(A)[0]",
    "eigvecs": "eigh(A)[1]",
    "qr_r": "qr(A)[1]",
    "left_singular_vectors": "svd(A)[0]",
    "right_singular_vectors": "svd(A)[2]",
    "windows": "sliding_window_view",
    "bose": "1/expm1(x)",
    "sech2": "sech(x)**2",
    "asin_slope": "1/sqrt(1 - x**2)",
    "atanh_slope": "1/(1 - x**2)",
    "atan2_derivative": "x/(x**2 + y**2)",
    "recurrence": "the sum over what comes later, with the product of what is between",
    "no_graph": "nothing",
}

_WORD = re.compile(r"(?<![\w.])[A-Za-z]\w*(?=\(|\\left|\})")


def internal_words(written: str) -> list[str]:
    """The words of the implementation in a text or in LaTeX (without its escapes)."""
    found = [word for word in _WORD.findall(written) if word in INTERNAL]
    # What users write of loops is what nobody has to know of running sums.
    internal = r"delta\[|axis=-|\bindex\(" + ("" if "scan" in written else "|reverse=")
    return found + re.findall(internal, written)
