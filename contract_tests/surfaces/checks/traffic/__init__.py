"""The proxy between an application and a service: a second emulator plays the service."""
