"""Several processes behind one address (``serve --workers``): each runs the worlds of some of the keys.

The front process (:mod:`.front`) accepts connections, reads without taking it the key of the first request, and passes
each connection to the worker that runs the key's world. A worker (:mod:`.worker`) is a whole emulator. A request that
comes to a worker for the world of another, because a connection has several keys or the request has none, is forwarded
(:mod:`.world_router`) over a Unix socket that only this user can reach (:mod:`.peers`).
"""
