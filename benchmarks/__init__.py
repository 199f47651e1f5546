"""Benchmarks: the measured jobs, and the programs that they are compared with."""
