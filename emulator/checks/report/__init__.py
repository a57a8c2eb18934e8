"""The grade: one exam of a client and its tests, made of what sweep, certify, audit, coverage, doubt and assumptions find.

A report has no times, ids or paths of a run, so the same commit gets the same bytes.
"""
