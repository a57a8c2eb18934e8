"""The certifier behind ``test receiver``: sends valid and invalid deliveries to a receiver."""
