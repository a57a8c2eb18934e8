"""The room of an emulator's clients: for ``/v1`` and the control API, and a receiver of webhooks.

``messages`` has a request and its response as values. ``connections`` takes the one, sends it to an
emulator in any process, and returns the other; the console does so with the ASGI application of its
own process. ``api`` is what commands, tests and examinations call; ``webhook_receiver`` is where
deliveries arrive.

Nothing here uses httpx. To import it takes longer than a command has for one request, and users'
tests replace its transports, and those of ``http.client``, to fake other services; a test must
reach its emulator all the same.
"""
