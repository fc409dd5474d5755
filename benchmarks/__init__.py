"""The library compared with hand-written NumPy and its peers, in one run: read the ratios.

``make bench``, or ``python -m benchmarks``, with ``--only 4 mixture``, ``--peers hand jax``,
``--rounds 3``, ``--quick``.

workloads     data, formula, derivative, and the same task by hand; a module for each field
declarations  the parts of a workload, and the agreement of results
libraries     each library's way to run a workload, in the form that it recommends
contestants   a library at a workload, in a separate process
rounds        timing in turns, of contestants with the right numbers; ratios are medians over rounds
targets       the ratios to reach
report        the table, the JSON, the plot
page          the table in docs/speed.md, and a chart of it

``python -m benchmarks.commits REVISION`` compares this tree with an older commit, in interleaved
runs of ``programs``; ``python -m benchmarks.kernels`` reports which kernels of Tensors save time.
"""
