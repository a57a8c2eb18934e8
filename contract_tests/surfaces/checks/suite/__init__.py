"""Tests of test suite: the mutants, the command, and suites of three strengths."""
