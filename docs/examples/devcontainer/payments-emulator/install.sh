#!/bin/sh
# Installs the emulator in an environment of its own, and its command for every user of the container.
set -eu
if ! python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "payments-emulator needs Python 3.11 or newer with venv: add the feature ghcr.io/devcontainers/features/python" >&2
    exit 1
fi
python3 -m venv /usr/local/lib/payments-emulator
/usr/local/lib/payments-emulator/bin/python -m pip install --quiet "$PACKAGE"
ln -sf /usr/local/lib/payments-emulator/bin/payments-emulator /usr/local/bin/payments-emulator
