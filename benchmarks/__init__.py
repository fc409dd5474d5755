"""The library beside hand-written NumPy and its peers, in one run: read the ratios, not the times.

``make bench``, or ``python -m benchmarks``, with ``--only 4 mixture``, ``--peers hand jax``,
``--rounds 3``, ``--quick``.

workloads     what is computed: data, formula, derivative, and the same by hand; a field a module
declarations  what a workload is, and when results agree
libraries     how each library does a workload, in the form that it recommends
contestants   a library at a workload, in a process of its own
rounds        who gives our numbers is timed, in turns; a ratio is a median over rounds
targets       what has to be reached
report        the table, the JSON, the plot
page          that table in docs/speed.md, and a chart of it

``python -m benchmarks.commits REVISION`` compares this tree with an older commit, in interleaved
runs of ``programs``; ``python -m benchmarks.kernels`` says which kernels of Tensors earn their
place.
"""
