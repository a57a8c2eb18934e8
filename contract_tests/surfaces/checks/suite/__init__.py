"""Tests of doubt: the wrong services, the command, and suites of three strengths."""
