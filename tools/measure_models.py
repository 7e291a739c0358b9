#!/usr/bin/env python3
"""Times whole models with random weights on the GPU of this machine and writes rows in roofcast's measurement format.

Needs PyTorch; timm or torchvision for images, transformers for language. `--list` needs none of them.
Nothing is downloaded: models are built from their configurations.
"""
import signal
import sys

from model_timing.command import main

if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `--list | head` ends quietly
    sys.exit(main(sys.argv[1:]))
