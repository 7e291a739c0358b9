"""roofcast predicts from a GPU's data sheet how fast a model runs, whether it fits, and how large the error may be.

    import roofcast

    p = roofcast.predict("llama-3.1-8b", "h100", precision="fp8", batch=8)
    p.tpot_ms, p.tpot_ms_low, p.tpot_ms_high

Keywords are the options of the command of the same name, with underscores. Attributes of answers are keys of the command's JSON. Units
are in the names: GB is 10^9 bytes. Bad input raises roofcast.Error; what roofcast chose for you is a warning, roofcast.Note.
"""

from ._roofcast import version as __version__
from ._data import data_folder
from ._errors import Error, NoAnswer, Note
from ._records import Record, Result, Rows
from ._profiles import Gpu, Model
from ._steps import StepModel
from ._sweeps import Sweep, Texts
from ._functions import *  # noqa: F403  written by tools/python-functions
from ._functions import __all__ as _function_names

__all__ = ["Error", "Gpu", "Model", "NoAnswer", "Note", "Record", "Result", "Rows", "StepModel", "Sweep", "Texts", "data_folder", *_function_names]
