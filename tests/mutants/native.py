"""Faults in machine code: its functions, and the cache of what compilers made."""

from __future__ import annotations

from tests.mutants.rows import Family

_native = Family("native")
FAMILIES = (_native,)

# Loops --------------------------------------------------------------------------------------------

_native(
    "c-loops-read-lengths-by-name",
    "return any(isinstance(step.kind, kinds.Size) for step in steps)",
    "return False",
    "test_lengths_of_axes_are_no_names_in_c[scalars-n]",
)

# Functions ----------------------------------------------------------------------------------------

EXACT = "test_functions_are_exact_to_a_few_ulp"
ENDS = "test_functions_end_as_numpys_do"
AS_NUMPY = "test_what_is_not_rounded_is_numpys"

_native(
    "c-log-sigmoid-has-a-wrong-sign",
    '"log_sigmoid": "f_minimum(x, 0) - m_log1p(m_exp(-m_fabs(x)))"',
    '"log_sigmoid": "f_minimum(x, 0) + m_log1p(m_exp(-m_fabs(x)))"',
    f"{EXACT}[1-float64]",
)
_native(
    "c-softplus-loses-its-tail",
    '"softplus": "f_maximum(x, 0) + m_log1p(m_exp(-m_fabs(x)))"',
    '"softplus": "f_maximum(x, 0) + m_log(1 + m_exp(-m_fabs(x)))"',
    f"{EXACT}[1-float64]",
)
_native(
    "c-sigmoid-swaps-its-branches",
    '"sigmoid": "(x >= 0 ? 1 : m_exp(-m_fabs(x)))',
    '"sigmoid": "(x <= 0 ? 1 : m_exp(-m_fabs(x)))',
    f"{EXACT}[1-float64]",
)
_native(
    "c-sech-overflows",
    '"sech": "2*m_exp(-m_fabs(x))/(1 + m_exp(-m_fabs(x))*m_exp(-m_fabs(x)))"',
    '"sech": "2/(m_exp(x) + m_exp(-x))*1"',
    f"{EXACT}[1-float32]",
)
_native(
    "c-tanh-cancels-near-zero",
    '"tanh_near": "m_fabs(x) < 0.625"',
    '"tanh_near": "m_fabs(x) < 0.001"',
    f"{EXACT}[1-float64]",
)
_native(
    "c-tanh-goes-on-where-its-fraction-ends",
    '"tanh_near": "m_fabs(x) < 0.625"',
    '"tanh_near": "m_fabs(x) < 1.5"',
    f"{EXACT}[1-float64]",
)
_native(
    "c-tanh-loses-the-sign-of-large-numbers",
    "? x : m_copysign(1, x)",
    "? x : 1",
    f"{EXACT}[1-float64]",
)
_native(
    "c-sech2-overlooks-a-square",
    '"4*(x/(1 + (2*x + x*x)))"',
    '"4*(x/(1 + 2*x))"',
    f"{EXACT}[1-float32]",
)
_native(
    "c-log1mexp-cancels-near-zero",
    "x <= 0.6931471805599453 ? m_log(-m_expm1(-x))",
    "x <= 0.6931471805599453 ? m_log(1 - m_exp(-x))",
    f"{EXACT}[1-float64]",
)
_native(
    "c-maximum-swaps-its-branches",
    '"maximum": "x > y || x != x ? x : y"',
    '"maximum": "x < y || x != x ? x : y"',
    f"{AS_NUMPY}[2-float64]",
)
_native(
    "c-exponentials-are-less-the-smallest",
    '"larger": "y > x ? y : x"',
    '"larger": "y < x ? y : x"',
    "test_extreme_numbers_keep_their_meaning",
)
_native(
    "c-sums-near-1-are-looked-for-in-the-first-row",
    'each = [f"for (int r = 0; r < m; r++) near |= {cell} < {NEAR};"]',
    'each = [f"for (int r = 0; r < 1; r++) near |= {cell} < {NEAR};"]',
    "test_logarithms_of_sums_near_1_have_all_their_digits[float64]",
)
_native(
    "c-squares-are-turned-beyond-the-last-column",
    "for (; k + 8 <= count; k += 8)",
    "for (; k + 7 <= count; k += 8)",
    "test_blocks_of_any_width_are_turned_around[float64]",
)
_native(
    "c-parts-begin-at-the-first-row",
    "= (const char *)in[{k}] + before*t{v}[0];",
    "= (const char *)in[{k}];",
    "test_bits_depend_on_the_element_alone[elementwise]",
)
_native(
    "c-sums-of-parts-are-those-of-the-first",
    "= (real *)out[{k}] + part*{self._count(x.shape)};",
    "= (real *)out[{k}];",
    "test_bits_depend_on_the_element_alone[elementwise]",
)
_native(
    "c-minimum-forgets-nan",
    '"minimum": "x < y || x != x ? x : y"',
    '"minimum": "x < y ? x : y"',
    f"{AS_NUMPY}[2-float64]",
)
_native(
    "c-xlogy-is-nan-at-zero",
    '"xlogy": "x*m_log(x == 0 && y == y ? 1 : y)"',
    '"xlogy": "x*m_log(y)"',
    f"{ENDS}[2-float64]",
)
_native(
    "c-sign-keeps-that-of-zero",
    "x < 0 ? -1 : x != x ? x : 0",
    "x < 0 ? -1 : x",
    f"{AS_NUMPY}[1-float64]",
)
_native(
    "c-cosine-of-short-lengths-has-few-digits",
    "x < 4*c_least ? 4/c_epsilon : x > c_largest ? 0.25 : 1",
    "x > c_largest ? 0.25 : 1",
    f"{EXACT}[2-float64]",
)
_native(
    "c-mod-has-the-sign-of-cs",
    "f_other_sign(x, y) ? x + y : x",
    "x",
    f"{AS_NUMPY}[2-float64]",
)
_native(
    "c-floor-divide-is-truncated",
    "(x - z)/y - f_other_sign(z, y)",
    "(x - z)/y",
    f"{AS_NUMPY}[2-float64]",
)
_native(
    "c-sinc-loses-its-parity",
    "f_quotient1(f_parity(m_rint(x))*m_sin(",
    "f_quotient1(m_sin(",
    f"{EXACT}[1-float64]",
)

_native(
    "a-sine-and-a-cosine-are-one-call",
    'for name in ("sin", "cos") for kind in ("", "f")',
    'for name in ("sin",) for kind in ()',
    "test_a_sine_and_a_cosine_of_one_argument_are_vector_functions[float64]",
)

_native(
    "fastmath-is-forgotten",
    "flags += FAST * options.fastmath",
    "flags += FAST * False",
    "test_fastmath_has_other_flags_and_is_near_on_finite_numbers[elementwise-float64]",
)
_native(
    "fastmath-is-for-all",
    "flags += FAST * options.fastmath",
    "flags += FAST * True",
    "test_fastmath_has_other_flags_and_is_near_on_finite_numbers[elementwise-float64]",
)
_native(
    "fastmath-is-lost-by-pickles",
    "tuple(self._options)[:4]",
    "tuple(self._options)[:3]",
    "test_fastmath_is_of_machine_code",
)

# What is kept -------------------------------------------------------------------------------------

_native(
    "damaged-libraries-are-loaded",
    "return head if mark and tail == digest(head).encode() else None",
    "return head if mark else None",
    "test_what_is_damaged_is_made_again[one bit]",
)
_native(
    "files-of-others-are-run",
    'return not hasattr(os, "getuid") or known.st_uid == os.getuid()',
    "return True",
    "test_files_of_others_are_not_run",
)
_native(
    "folders-of-a-group-are-used",
    "_OTHERS = stat.S_IWGRP | stat.S_IWOTH",
    "_OTHERS = stat.S_IWOTH",
    "test_what_others_can_write_is_not_run",
)
_native(
    "libraries-forget-their-processor",
    "(*known.command, known.version, known.processor, *every, text)",
    "(*known.command, known.version, *every, text)",
    "test_libraries_are_named_after_all_they_depend_on",
)
_native(
    "libraries-forget-their-flags",
    "(*known.command, known.version, known.processor, *every, text)",
    "(*known.command, known.version, known.processor, text)",
    "test_libraries_are_named_after_all_they_depend_on",
)
_native(
    "a-full-disk-is-an-error",
    "with suppress(OSError):  # a full disk, or one that is only read",
    "with suppress(NoCompiler):",
    "test_without_a_place_nothing_is_kept",
)
_native(
    "every-call-makes-its-library-anew",
    "found = _LOADED.get(key)",
    "found = None",
    "test_threads_make_one_library",
)
_native(
    "the-compiler-is-asked-for-where-there-is-none",
    "        if self.emitter.options.native:\n            from numeric.lowering.native.compiler ",
    "        from numeric.lowering.native.compiler import compiler\n\n"
    "        if compiler() and self.emitter.options.native:\n"
    "            from numeric.lowering.native.compiler ",
    "test_without_a_compiler",
)
_native(
    "what-others-are-making-is-removed",
    "st_mtime > _ABANDONED",
    "st_mtime > -1",
    "test_what_a_process_left_is_removed",
)
_native(
    "folders-that-were-left-stay",
    "            shutil.rmtree(path)",
    "            path.rmdir()",
    "test_what_a_process_left_is_removed",
)
_native(
    "warnings-name-a-line-of-ours",
    "warnings.warn(text, RuntimeWarning, stacklevel=_callers_level())",
    "warnings.warn(text, RuntimeWarning, stacklevel=2)",
    "test_without_a_compiler",
)

_native(
    "the-folder-is-reached-by-its-path",
    "inside = Path(_DESCRIPTORS, str(number))",
    "inside = path",
    "test_a_folder_that_is_exchanged_is_not_used",
)
_native(
    "parents-are-made-for-all",
    "        _make(path.parent)\n",
    "        path.parent.mkdir(parents=True, exist_ok=True)\n",
    "test_parents_are_made_for_their_user_alone",
)
_native(
    "parents-of-others-are-trusted",
    "if writable or known.st_uid not in (0, os.getuid()):",
    "if writable and known.st_uid not in (0, os.getuid()):",
    "test_where_there_are_no_descriptors_parents_are_looked_at",
)
_native(
    "libraries-stay-loaded",
    "weakref.finalize(self._owner, _ctypes.dlclose, self._handle)",
    "weakref.finalize(self._owner, abs, self._handle)",
    "test_mappings_are_not_exhausted[300]",
)
_native(
    "auto-tries-a-kernel-again",
    "(FAILURES.reason is not None or key in FAILURES.texts)",
    "FAILURES.reason is not None",
    "test_auto_is_numpys_where_a_kernel_cannot_be_had[fails-kernel]",
)
_native(
    "one-kernel-stops-all",
    "        compilers.check()\n",
    '        raise NoCompiler("")\n',
    "test_what_stops_one_kernel_stops_no_other",
)
_native(
    "what-parts-share-is-on-the-stack",
    'f"    real *const kept = out + {len(schedule.results)};"',
    'f"    real kept[{len(shared) + 1}];"',
    "test_no_function_has_a_large_frame[scalars]",
)
_native(
    "blocks-are-on-the-stack",
    "_ON_STACK = 1024",
    "_ON_STACK = 8192",
    "test_a_small_stack_is_enough",
)
_native(
    "libraries-are-tried-in-this-process",
    "        if python is None:\n",
    "        if True:\n",
    "test_a_library_that_would_end_this_process_is_no_library",
)
_native(
    "who-holds-the-pipes-is-waited-for",
    "if ended and not ready:",
    "if ended and not ready and not reading.get_map():",
    "test_who_holds_the_pipes_of_a_command_is_not_waited_for",
)

_native(
    "no-column-is-taken-for-the-first",
    "line.value: None if letter is None else",
    "line.value: 0 if letter is None else",
    "test_columns_and_other_axes_of_their_length_in_one_kernel",
)

# Tiles of products --------------------------------------------------------------------------------

EXACT_TILES = "test_sums_of_integers_are_exact[plain-17-33-float64]"
SINGLE = (
    "test_sums_of_integers_are_exact[plain-17-33-float32]"  # where registers hold eight of these
)
COPIES = "test_what_is_copied_behind_the_last_row_does_not_count[nan-float64]"
NAMES = '    names: Names = {x: f"i{k}" for k, x in enumerate(line.letters)}\n'
NARROW = "test_narrower_registers_give_the_same_sums"
POINTS = "test_points_broadcast_as_they_do_in_numpy"

_native(
    "tiles-go-on-behind-the-last-column",
    "{first} + {k} < {end} ? {first} + {k} : {end} - 1;",
    "{first} + {k} <= {end} ? {first} + {k} : {end} - 1;",
    "test_tiles_end_where_their_value_ends",
)
_native(
    "copies-behind-the-last-row-count-in-tiles",
    'added(f"some(&{{}}, {own} - r)")',
    'added("OF({})")',
    EXACT_TILES,
    COPIES,
)
_native(
    "tiles-forget-the-rows-behind-the-last-piece",
    'f"    if (r < {own}) {{",\n        *[f"    {text}" for text in added(',
    'f"    if (0) {{",\n        *[f"    {text}" for text in added(',
    EXACT_TILES,
)
_native(
    "pieces-of-a-few-rows-have-one-more",
    "k < n && k < PIECE",
    "k <= n && k < PIECE",
    EXACT_TILES,
)
_native(
    "sums-of-the-last-tile-are-not-kept",
    'f"    else for (int k = 0; {first} + k < {end}; k++) {put}"',
    'f"    else for (int k = 0; {first} + k + 1 < {end}; k++) {put}"',
    EXACT_TILES,
)
_native(
    "sums-over-rows-are-those-of-the-last-block",
    '+= sum[k];"',
    '= sum[k];"',
    EXACT_TILES,
)
for _name, _from, _to in (
    (
        "pairs",
        "1, 9, 3, 11, 5, 13, 7, 15))\n#define FOURS",
        "1, 9, 3, 11, 5, 13, 6, 15))\n#define FOURS",
    ),
    (
        "fours",
        "2, 3, 10, 11, 6, 7, 14, 15))\n#define EIGHTS",
        "2, 3, 10, 11, 7, 7, 14, 15))\n#define EIGHTS",
    ),
    (
        "eights",
        "4, 5, 6, 7, 12, 13, 14, 15))\n#define TOTALS",
        "4, 5, 6, 6, 12, 13, 14, 15))\n#define TOTALS",
    ),
):
    _native(f"totals-of-{_name}-miss-a-lane", _from, _to, EXACT_TILES, SINGLE)
_native(
    "totals-without-mixing-miss-half",
    "for (int w = PIECE/2; w; w /= 2) for (int j = 0; j < w; j++) z[k][j]",
    "for (int w = PIECE/2; w; w /= 2) for (int j = 1; j < w; j++) z[k][j]",
    f"{NARROW}[-march=haswell-float64]",
    f"{NARROW}[-march=x86-64-float32]",
    "test_compilers_that_do_not_mix_vectors_give_the_same_sums",
)
_native(
    "narrow-registers-hold-as-much-as-wide-ones",
    "#elif defined(__AVX__) || {single}\n#define PIECE 4",
    "#elif defined(__AVX__) || {single}\n#define PIECE 8",
    f"{NARROW}[-march=x86-64-float32]",
    f"{NARROW}[-march=haswell-float64]",
)
_native(
    "tiles-share-the-operand-that-differs",
    f"    shared = line.shared.operand\n{NAMES}    where",
    f"    shared = 1 - line.shared.operand\n{NAMES}    where",
    EXACT_TILES,
)
_native(
    "places-of-tiles-are-no-one-number",
    "letter: f'({first} + k)'",
    "letter: f'{first} + k'",
    "test_sums_along_an_axis_that_is_not_the_last_one_stay_in_their_places",
)
_native(
    "tiles-over-rows-share-the-operand-that-differs",
    f"    shared, letter = line.shared\n{NAMES}    first",
    f"    shared, letter = line.shared\n    shared = 1 - shared\n{NAMES}    first",
    EXACT_TILES,
)
_native(
    "operands-without-rows-are-read-along-them",
    'if self.text != "{0}*{1}" or sum(self.rows) != 2:',
    'if self.text != "{0}*{1}":',
    "test_an_operand_without_rows_is_not_read_along_them",
)
_native(
    "products-are-in-tiles-whatever-registers-hold",
    "side = SMALL if compiler().wide else THIN",
    "side = SMALL",
    "test_where_registers_are_narrow_these_products_are_left_to_blas",
)
_native(
    "what-registers-hold-is-not-asked-again",
    "_LAYOUT, *_FLAGS, *VECTOR, _WIDE)",
    "_LAYOUT, *_FLAGS, *VECTOR, 'wide')",
    "test_what_registers_hold_is_kept_and_asked_again_when_asked_otherwise",
)

# Points -------------------------------------------------------------------------------------------

_native(
    "arguments-at-points-are-not-stretched",
    "    if x.shape != points:\n        x = np.broadcast_to(x, points)\n",
    "",
    POINTS,
)
_native(
    "arrays-of-points-are-read-as-they-lie",
    "return x if len(points) == 1 else x.reshape(count)",
    'return x if len(points) == 1 else x.reshape(count, order="A")',
    POINTS,
)
_native(
    "results-at-points-are-in-the-order-of-the-kernel",
    "self._places = [every.index(v) for v in program.results]",
    "self._places = sorted(every.index(v) for v in program.results)",
    POINTS,
)
_native(
    "arguments-as-results-are-taken-from-the-other-end",
    "every = [*own, *program.params, *left]",
    "every = [*own, *program.params[::-1], *left]",
    POINTS,
)
_native(
    "results-at-points-stay-in-a-row",
    "        if len(points) != 1:\n            found = [x.reshape(points) for x in found]\n",
    "",
    POINTS,
)

# Scans --------------------------------------------------------------------------------------------

_scan = Family("native scan")
FAMILIES = (*FAMILIES, _scan)
STEPWISE = "test_random_bodies_step_as_interpreted_ones_do"
EACH_ROW = "test_each_row_is_taken_once_and_written_to_its_place"

_scan(
    "c-carries-are-overwritten-before-all-are-computed",
    '*[f"        const real b{j} = {text(v)};" for j, v in enumerate(steps.results)],\n'
    '        *[f"        a{v} = b{j};" for j, v in carry],',
    '*[f"        a{v} = {text(steps.results[j])};" for j, v in carry],',
    "test_parts_of_the_carry_that_change_places",
    STEPWISE,
)
_scan(
    "c-loops-miss-the-last-step",
    '_STEPS = "    for (long t = 0; t < n; t++) {"',
    '_STEPS = "    for (long t = 0; t < n - 1; t++) {"',
    EACH_ROW,
    STEPWISE,
)
_scan(
    "c-loops-read-the-row-before",
    "(in{k} + t*strides[{k}])",
    "(in{k} + (t ? t - 1 : 0)*strides[{k}])",
    EACH_ROW,
    STEPWISE,
)
_scan(
    "c-loops-write-each-carry-a-row-late",
    'after, ends = ["row += strides[0];", *start], []',
    'after, ends = [*start, "row += strides[0];"], []',
    EACH_ROW,
    STEPWISE,
)
_scan(
    "c-trajectories-begin-behind-the-start",
    "for line in (*begun, *start)]",
    "for line in begun]",
    EACH_ROW,
    STEPWISE,
)
_scan(
    "c-folds-give-the-carry-of-numbers",
    'after = [f"((real *)row)[{k}] = b{j};" for k, j in enumerate(given)]',
    'after = [f"((real *)row)[{k}] = b{k};" for k, j in enumerate(given)]',
    "test_folds_are_loops_too",
)
_scan(
    "c-folds-of-arrays-stay-where-they-began",
    '            "now = made;",\n',
    "",
    "test_folds_of_arrays_write_each_row_to_its_place",
)
_scan(
    "c-loops-in-reverse-read-xs-forward",
    "x[::-1] if along and reverse else x",
    "x",
    EACH_ROW,
    STEPWISE,
)
_scan(
    "c-loops-in-reverse-write-forward",
    "to = path[::-1] if reverse else path",
    "to = path",
    EACH_ROW,
    STEPWISE,
)
_scan(
    "c-rows-with-gaps-are-read-as-if-in-one-piece",
    "x if x[:1].flags.c_contiguous else np.ascontiguousarray(x)",
    "x",
    "test_rows_lie_in_any_order",
)
_scan(
    "integers-beside-floats-are-floats",
    "dtype != _DOUBLE and not self._only_flags[k]:",
    "dtype == _DOUBLE and not self._only_flags[k]:",
    "test_places_are_numbers",
)
_scan(
    "c-loops-of-floats-refuse-masks",
    "dtype != _DOUBLE and not self._only_flags[k]:",
    "dtype != _DOUBLE:",
    "test_native_scans.py::test_nan_and_infinities_go_on",
)
_scan(
    "any-integer-is-a-mask",
    "        if not (zeros and isinstance(step.kind, kinds.Pointwise) and",
    "        if not (isinstance(step.kind, kinds.Pointwise) and",
    "test_masks_are_asked_whether_they_are_zero",
)
_scan(
    "c-loops-take-the-first-precision-for-all",
    "if len(kinds) > 1 or not kinds <= _REAL:\n            return None\n        dtype",
    "if not kinds <= _REAL:\n            return None\n        dtype",
    "test_two_precisions_are_numpys",
)
_scan(
    "loops-of-numpy-functions-run-in-machine-code",
    'having = getattr(value, "having", None)\n        if having is not None:\n'
    "            value = having(self.options)\n        return",
    'having = getattr(value, "having", None)\n        if having is not None:\n'
    "            value = having(self.options._replace(native=True))\n        return",
    "test_backends_of_one_loop_do_not_mix",
)
_scan(
    "last-lanes-are-missed",
    'f"for (long j = 0; j < {count}; j += {WIDE}) {{",',
    'f"for (long j = 0; j < {last}; j += {WIDE}) {{",',
    "test_an_element_has_the_same_bits_wherever_it_stands",
)
_scan(
    "copies-of-params-are-not-turned",
    "there, source = made.at(letters), Cells(here.array, moved).at(letters)",
    "there, source = made.at(letters), made._replace(array=here.array).at(letters)",
    "test_networks_and_their_cotangents_are_loops",
)
_scan(
    "zeros-of-masked-cotangents-are-multiplied",
    'return f"({zeros} ? 0 : {text})" if zeros else text',
    "return text",
    "test_zeros_of_masked_cotangents_win_over_infinities",
)
_scan(
    "what-is-around-a-cotangent-is-not-zero",
    'self.before.append(f"fill(v{v}, {made.cells.size});")',
    'self.before.append(f"fill(v{v}, 1);")',
    "test_networks_and_their_cotangents_are_loops",
)
_scan(
    "joined-arrays-begin-at-the-same-place",
    "part = np.take(made.cells, range(start, start + length), axis)",
    "part = np.take(made.cells, range(length), axis)",
    "test_random_bodies_of_arrays_step_as_interpreted_ones_do",
)
_scan(
    "columns-of-arrays-are-stretched",
    "return tuple([lead + k if n == out[lead + k] else None for k, n in enumerate(shape)])",
    "return tuple([k if n == out[lead + k] else None for k, n in enumerate(shape)])",
    "test_random_bodies_of_arrays_step_as_interpreted_ones_do",
)
