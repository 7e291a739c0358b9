"""The data that all functions share: shipped GPUs, models and software."""

from __future__ import annotations

import functools
import pathlib
import threading

from . import _roofcast

_lock = threading.Lock()


@functools.lru_cache(maxsize=1)
def _loaded() -> "_roofcast.Data":
    return _roofcast.Data()


def current() -> "_roofcast.Data":
    """Loaded when first needed: ROOFCAST_DATA, else what the package has inside."""
    with _lock:
        return _loaded()


def forget() -> None:
    """After a fit was written."""
    with _lock:
        _loaded.cache_clear()


def data_folder() -> pathlib.Path:
    """The folder of gpus/, models/, software/ and validation_data/: that of ROOFCAST_DATA, else the one inside the package."""
    return pathlib.Path(current().folder)
