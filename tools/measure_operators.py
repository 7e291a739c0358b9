#!/usr/bin/env python3
"""Times PyTorch's operators on the GPU of this machine and writes kernel rows in roofcast's measurement format.

Needs PyTorch; `--list` does not.
"""
import signal
import sys

from model_timing.operator_command import main

if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `--list | head` ends quietly
    sys.exit(main(sys.argv[1:]))
