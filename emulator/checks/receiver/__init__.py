"""The certifier behind ``certify``: sends valid and invalid deliveries to a webhook receiver and checks the answers."""
