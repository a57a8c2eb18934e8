"""``test all``: one exam of an application and its tests, made of what the other tests find.

A report has no times, ids or paths of a run, so the same commit gets the same bytes.
"""
