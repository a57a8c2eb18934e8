"""The examiner: holds any server against the document. It knows the document and HTTP and nothing of the emulator."""
