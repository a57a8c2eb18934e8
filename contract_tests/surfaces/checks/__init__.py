"""The checks of an application, a suite, a receiver, a document, a service."""
