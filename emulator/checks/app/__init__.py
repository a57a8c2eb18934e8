"""Tests of an application: repeats a story with every fault and compares the endings."""
