#!/bin/sh
# Dumps from PyTorch equal clearhead's, and compare finds mistakes planted in PyTorch. Exit 77 (skipped) where no
# python3 has torch.
#
#     tests/plants.sh ROOT COMMAND
set -eu
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import torch' 2>/dev/null; then
        PYTHONDONTWRITEBYTECODE=1 exec "$python" "$1/tests/plants.py" "$1" "$2"
    fi
done
echo "no python3 with torch: nothing to compare with"
exit 77
