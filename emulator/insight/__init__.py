"""A world's account of itself: all code here reads the journal, none changes a world.

The journal (``engine/journal.py``) has the last thousand requests of a world and the units of work
that they and its jobs committed. Four questions are answered from it:

* ``explain``: why is this object in the state that it is in? ``causality`` finds who caused a unit
  of work, ``explanation`` follows the causes back from an object, ``explanation_text`` says each
  step.
* ``audit``: does the client follow the service's guidance? ``client_history`` prepares its requests
  and deliveries, ``audit`` has the table of rules and finds those that break one.
* ``coverage``: which parts of the service's document were used, and which that matter were never
  seen?
* ``recording``: what was done, as steps (``model``) that run again as a test for pytest or Node, or
  with curl (``renderers``).

``names`` finds objects by their ids and describes them for people. ``state`` has the facts of an
object, and the sentences and next steps that follow from them. The control API, the command line
and the console show these reports; ``insight`` knows none of them.
"""
