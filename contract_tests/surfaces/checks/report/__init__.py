"""Tests of test all: its areas, its formats, and the command."""
