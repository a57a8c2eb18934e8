"""The code, the documentation and the package themselves; benchmarks."""
