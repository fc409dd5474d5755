"""Run the tests that see most of what a change can break, in at most 40 seconds: ``make quick``.

Each layer of the packages has a few test files, the quickest to notice its faults first.  A change
runs those of the layers that it touches, the test files that it touches, and the examples in the
modules that it touches.  If several layers change, they share the time.

    python -m tests.quick [--jobs 2] [--list] [FILE ...]
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.changes import ROOT, changed_files

if TYPE_CHECKING:
    from collections.abc import Sequence

# Seconds of a processor that the selected tests may take.  Two processors have twice as many in the
# 40 seconds; imports and collection take the others.
BUDGET = 40
# Folders and modules, and their test files, in the folder of tests.
LAYERS = {
    "symdiff": (
        "symdiff/test_functions symdiff/test_methods test_robustness test_completeness "
        "test_bad_arguments symdiff/test_pickling"
    ),
    "symdiff/graph": (
        "symdiff/test_lengths numeric/test_named_lengths symdiff/test_joins "
        "symdiff/test_substitution test_bad_arguments symdiff/test_contractions "
        "numeric/test_contraction test_table test_declarations symdiff/test_products "
        "symdiff/test_methods symdiff/test_identities"
    ),
    "symdiff/scalars": ("symdiff/test_scalar test_vocabulary symdiff/test_bridge test_accuracy"),
    "symdiff/calculus": (
        "symdiff/test_jacobians test_laws symdiff/test_joins test_masks test_marks "
        "test_variables symdiff/test_identities test_programs"
    ),
    "symdiff/opaque_ops": (
        "test_declarations symdiff/test_sequences symdiff/test_decompositions "
        "symdiff/test_matrix_functions symdiff/test_conditions test_table"
    ),
    "symdiff/functions": (
        "symdiff/test_functions test_table numeric/test_random_named_lengths "
        "symdiff/test_indexing symdiff/test_conditions numeric/test_named_lengths "
        "symdiff/test_numpy_protocol"
    ),
    "symdiff/transforms": (
        "symdiff/test_scan symdiff/test_solutions symdiff/test_regrouping symdiff/test_batching "
        "numeric/test_shards symdiff/test_checkpoints symdiff/test_while_batches "
        "symdiff/test_while_loop symdiff/test_conditions symdiff/test_unknown_functions "
        "symdiff/test_integrals"
    ),
    "symdiff/exact": (
        "symdiff/test_counting symdiff/test_evaluate symdiff/test_sparsity symdiff/test_digits "
        "symdiff/test_solutions"
    ),
    "symdiff/interchange": (
        "symdiff/test_parser symdiff/test_pickling symdiff/test_bridge "
        "symdiff/test_parser_arrays symdiff/test_numpy_protocol test_declarations "
        "symdiff/test_kinks symdiff/test_while_batches"
    ),
    "symdiff/display": (
        "display/test_exact_texts symdiff/test_printing symdiff/test_latex "
        "display/test_round_trip display/test_gallery symdiff/test_mermaid "
        "symdiff/test_notebooks"
    ),
    "symdiff/rewriting": "symdiff/test_simplification",
    "numeric": (
        "test_robustness eager/test_names eager/test_rules_modes numeric/test_surface test_types"
    ),
    "numeric/lowering": (
        "numeric/test_function numeric/test_blocks numeric/test_kept_memory numeric/test_calls "
        "numeric/test_gathers numeric/test_lowering numeric/test_contraction symdiff/test_scan "
        "symdiff/test_solutions symdiff/test_conditions numeric/test_kernels "
        "symdiff/test_while_batches symdiff/test_unknown_functions"
    ),
    "numeric/lowering/native": (
        "numeric/test_native_accuracy numeric/test_native numeric/test_native_shifted "
        "numeric/test_native_tiles numeric/test_native_cache numeric/test_native_failures"
    ),
    "numeric/lowering/passes": (
        "numeric/test_passes numeric/test_passes_contractions numeric/test_passes_products "
        "numeric/test_passes_parts numeric/test_passes_repeats numeric/test_passes_scales "
        "numeric/test_passes_squares numeric/test_passes_affine numeric/test_passes_layouts "
        "numeric/test_passes_powers numeric/test_passes_exponentials "
        "numeric/test_passes_extremes numeric/test_passes_pads numeric/test_lowering "
        "numeric/test_kept_memory numeric/test_blocks numeric/test_unrolling numeric/test_calls"
    ),
    "numeric/lowering/kernels": (
        "symdiff/test_solutions numeric/test_passes_exponentials numeric/test_kernels "
        "numeric/test_passes_extremes symdiff/test_sequences numeric/test_passes_affine "
        "test_declarations numeric/test_contraction numeric/test_passes_contractions "
        "numeric/test_named_lengths"
    ),
    "numeric/lowering/printers": (
        "numeric/test_passes_squares numeric/test_lowering numeric/test_source "
        "numeric/test_blocks numeric/test_passes_contractions numeric/test_passes_exponentials"
    ),
    "numeric/eager": (
        "eager/test_rules_backward eager/test_rules_hooks eager/test_rules_modes "
        "eager/test_rules_inplace eager/test_rules_recording eager/test_op_table "
        "eager/test_rules_dtypes eager/test_saved_tensor_hooks eager/test_op_draws "
        "eager/test_leaks eager/test_conversions"
    ),
    "numeric/ops": (
        "eager/test_bad_arguments eager/test_op_table eager/test_pickling eager/test_nn_utils "
        "eager/test_rules_dtypes eager/test_op_draws eager/test_rules_edges eager/test_indexing "
        "eager/test_shaping"
    ),
    "numeric/autograd": (
        "eager/test_rules_functional eager/test_gradcheck eager/test_rules_func "
        "eager/test_rules_grad eager/test_rules_function"
    ),
    "numeric/tracing": (
        "eager/test_rules_func eager/test_tracing eager/test_func_loops "
        "eager/test_func_solutions eager/test_op_draws eager/test_linalg"
    ),
    "numeric/func.py": ("eager/test_rules_func eager/test_func_loops eager/test_func_solutions"),
    "numeric/linalg": "eager/test_linalg eager/test_op_table eager/test_matrices",
    "numeric/nn": (
        "eager/test_losses eager/test_activations eager/test_op_table eager/test_nn_utils"
    ),
    "numeric/optim.py": "eager/test_optim",
    "numeric/check": (
        "check/test_enclosed_ranges check/test_audit_bench check/test_audit "
        "check/test_remainders check/test_enclosures check/test_spectral_subgradients "
        "check/test_certificates check/test_why"
    ),
    "numeric/shards": ("numeric/test_shards numeric/test_shards_extremes numeric/test_shards_dask"),
    "numeric/show": (
        "numeric/test_exploring numeric/test_fields numeric/test_plots check/test_pictures"
    ),
    "numeric/export": "numeric/test_export",
    "numeric/special": "numeric/test_special test_accuracy",
    "numeric/cli": (
        "numeric/test_cli numeric/test_cli_check numeric/test_cli_values "
        "numeric/test_cli_messages numeric/test_cli_page"
    ),
    "numeric/demo": "numeric/test_demo test_feynman_parse test_feynman_reference",
    "tests/mutants": "mutants/test_rows",
}
# Seconds of a processor of the slower test files; any other takes about one.
SECONDS = {
    test: seconds
    for seconds, tests in {
        2: (
            "display/test_gallery eager/test_names numeric/test_blocks numeric/test_exploring "
            "numeric/test_kept_memory numeric/test_native_accuracy numeric/test_native_shifted "
            "numeric/test_special symdiff/test_evaluate symdiff/test_methods "
            "symdiff/test_parser symdiff/test_pickling symdiff/test_scan "
            "symdiff/test_simplification test_laws test_robustness"
        ),
        3: (
            "check/test_audit check/test_why display/test_round_trip numeric/test_named_lengths "
            "numeric/test_native_stack numeric/test_plots symdiff/test_numpy_protocol "
            "symdiff/test_parser_arrays test_declarations test_variables"
        ),
        4: (
            "numeric/test_calls numeric/test_shards_extremes symdiff/test_checkpoints "
            "symdiff/test_conditions symdiff/test_kinks symdiff/test_special_functions "
            "symdiff/test_while_batches test_completeness"
        ),
        5: "symdiff/test_while_loop",
        6: "numeric/test_native_compiler numeric/test_native_failures test_vocabulary",
        7: "numeric/test_native_tiles",
        8: "numeric/test_native",
        9: "test_programs",
        10: "eager/test_op_table",
        18: "numeric/test_native_scans symdiff/test_odes",
    }.items()
    for test in tests.split()
}


def layer_of(file: str) -> str | None:
    """The layer of a file: the longest entry of LAYERS that it is, or lies under."""
    fits = [layer for layer in LAYERS if file == layer or file.startswith(layer + "/")]
    return max(fits, key=len, default=None)


def selected(files: Sequence[str]) -> list[str]:
    """The files to run for a change of these: modules, tests that changed, tests of layers."""
    layers = dict.fromkeys(layer for file in files if (layer := layer_of(file)))
    # First the first of each layer, then the second of each, as far as the time goes.
    ranks = itertools.zip_longest(*(LAYERS[layer].split() for layer in layers))
    wanted = [*map(_test_name, files), *itertools.chain.from_iterable(ranks)]
    # The examples of a module take a few milliseconds, and are nearest to what changed.
    chosen = [file for file in files if layer_of(file) and _is_module(file)]
    left = BUDGET
    for test in dict.fromkeys(filter(None, wanted)):
        if SECONDS.get(test, 1) <= left:
            left -= SECONDS.get(test, 1)
            chosen.append(f"tests/{test}.py")
    return chosen


def _is_module(file: str) -> bool:
    return (
        file.startswith(("symdiff/", "numeric/"))
        and file.endswith(".py")
        and (ROOT / file).exists()
    )


def _test_name(file: str) -> str | None:
    """The name in LAYERS of a file of tests that exists; None for others."""
    name = file.removeprefix("tests/").removesuffix(".py")
    is_test = name.rpartition("/")[2].startswith("test_") and file == f"tests/{name}.py"
    return name if is_test and (ROOT / file).exists() else None


def main() -> int:
    """Select and run tests; the exit status is pytest's."""
    parser = argparse.ArgumentParser(prog="python -m tests.quick", description=main.__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="instead of those that changed")
    parser.add_argument("--jobs", default="0", help="how many other processes")
    parser.add_argument("--list", action="store_true", help="list the test files, and run none")
    asked = parser.parse_args()
    files = asked.files or changed_files()
    if files is None:
        parser.error("no history of git tells what changed; name the files")
    tests = selected(files)
    print("\n".join(tests) or "quick: neither a layer of the packages nor a test changed")
    if asked.list or not tests:
        return 0
    options = ["-q", "-n", asked.jobs, "-m", "not slow or kills"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
