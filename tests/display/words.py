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
    "sized": "the recurrence with n steps, and the condition that n fulfils",
    "steps": "the first k where a condition fails",
    "mesh": "the differential equation",
    "fold": "the recurrence",
    "scan": "the recurrence",
    "ode": "the differential equation",
}
# Names of the implementation in the text of a loop or a solution.
BOUND = {"sized", "mesh", "lambda", "steps", "s0", "c0", "p0", "x0", "astype", "int64", "ode"}

_WORD = re.compile(r"(?<![\w.])[A-Za-z]\w*(?=\(|\\left|\})")


def internal_words(written: str) -> list[str]:
    """The words of the implementation in a text or in LaTeX (without its escapes)."""
    found = [word for word in _WORD.findall(written) if word in INTERNAL]
    return found + re.findall(r"delta\[|axis=-|\bindex\(|reverse=", written)


def bound_words(written: str) -> list[str]:
    """The names of the implementation in the text or LaTeX of a loop or a solution."""
    return [word for word in re.findall(r"(?<![\w\\])[A-Za-z]\w*", written) if word in BOUND]
