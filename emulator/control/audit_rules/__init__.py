"""The guidance: what the service asks of its clients, as rules that a world's evidence is put to."""
