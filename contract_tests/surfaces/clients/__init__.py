"""Generated clients of the document, workflows and the guide's verifiers work with the emulator."""
