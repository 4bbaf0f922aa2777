"""MicroPython's own benchmarks, `tests/perf_bench`, with the scores that its maintainers compare."""
