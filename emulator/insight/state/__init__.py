"""The state of an object: its facts, and the sentences and next steps that follow from them.

``facts`` finds what the fields do not tell, such as a debt or a payment under way, by name. Two
tables name these facts: ``sentences`` chooses those that describe the state, its cause and its
future (``fixtures/status-sentences.yaml``), ``next_steps`` the requests that can change it
(``fixtures/next-steps.yaml``).
"""
