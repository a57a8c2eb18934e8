"""The proxy: requests go on to the real service and are played in a world beside it; what differs is reported."""
