"""What tests share: clients, sandboxes, fixtures, servers."""
