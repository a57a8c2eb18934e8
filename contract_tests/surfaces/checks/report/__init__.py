"""Tests of the one report, and of test all."""
