"""Tests of grade: its areas, its formats, and the command."""
