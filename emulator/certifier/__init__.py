"""The certifier: what ``certify`` runs, the service towards one webhook receiver, with good and bad deliveries."""
