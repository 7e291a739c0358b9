"""Measures cases on one GPU. Imports torch."""
import datetime
import gc
import threading
import time

import torch

from .builders import built
from .campaign import CaseError
from .rows import time_metric
from .statistics import statistics
from .steps import Step, step_of

LEAST_POWER_S = 1.0  # a board's power reading settles within about a second


class PowerLog:
    """Reads the board's power every 50 ms while it is entered; empty if the driver does not report it."""

    def __init__(self):
        self.watts = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def _read(self):
        begin = time.monotonic()
        while not self._stop.wait(0.05):
            try:
                watts = torch.cuda.power_draw() / 1000
            except Exception:  # pylint: disable=broad-except  # a missing management library raises one of several
                return
            if time.monotonic() - begin >= LEAST_POWER_S:
                self.watts.append(watts)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._stop.set()
        self._thread.join()


class Session:
    def __init__(self, runs, warmup, seed):
        if not torch.cuda.is_available():
            raise SystemExit("measure_models.py: PyTorch sees no NVIDIA GPU")
        self.runs, self.warmup, self.seed = runs, warmup, seed
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.gpu_name = torch.cuda.get_device_name(self.device)
        self.software = f"pytorch {torch.__version__.split('+')[0]} CUDA {torch.version.cuda}"

    def description(self):
        return [
            "measure_models: random weights, wall time from call to the end of the GPU's work, medians",
            f"GPU: {self.gpu_name}",
            f"software: {self.software}",
            f"date: {datetime.date.today().isoformat()}",
        ]

    def measure(self, case):
        """{metric: statistics} of a case. Raises CaseError when it cannot be measured."""
        torch.manual_seed(self.seed)
        allow = case.precision != "fp32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allow
        try:
            with torch.inference_mode():
                return self._measured(case)
        except CaseError:
            raise
        except torch.cuda.OutOfMemoryError as error:
            raise CaseError("out of memory") from error
        except Exception as error:  # pylint: disable=broad-except  # models and compilers raise anything; the run goes on
            raise CaseError(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}") from error
        finally:
            torch._dynamo.reset()
            gc.collect()
            torch.cuda.empty_cache()

    def _measured(self, case):
        torch.cuda.reset_peak_memory_stats(self.device)
        held = torch.cuda.memory_allocated(self.device)  # workspaces of libraries and what else earlier cases left
        model = built(case, self.device)
        if case.execution == "compiled":
            model.forward = torch.compile(model.forward)
        step = step_of(case, model, self.device)
        first_call_ms = self._timed(step)
        if case.execution == "cuda_graph":
            step = self._captured(step)
        for _ in range(self.warmup):
            self._timed(step)
        with PowerLog() as power:
            begin = time.monotonic()
            samples = [self._timed(step) for _ in range(self.runs)]
            while power.watts == [] and time.monotonic() - begin < 2 * LEAST_POWER_S:
                self._timed(step)
        metrics = {time_metric(case): statistics(samples), "first_call_ms": statistics([first_call_ms])}
        metrics["memory_gb"] = statistics([(torch.cuda.max_memory_allocated(self.device) - held) / 1e9])
        if power.watts:
            metrics["power_w"] = statistics(power.watts)
        return metrics

    def _timed(self, step):
        """Milliseconds of one call."""
        step.prepare()
        torch.cuda.synchronize(self.device)
        begin = time.perf_counter()
        step.call()
        torch.cuda.synchronize(self.device)
        return 1e3 * (time.perf_counter() - begin)

    def _captured(self, step):
        """The call as a CUDA graph, after warm-up on a stream of its own, as PyTorch wants it."""
        stream = torch.cuda.Stream(self.device)
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            for _ in range(3):
                step.prepare()
                step.call()
        torch.cuda.current_stream(self.device).wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        step.prepare()
        with torch.cuda.graph(graph):
            step.call()
        return Step(graph.replay, step.prepare)
