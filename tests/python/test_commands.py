"""The other functions answer as the commands do."""

import inspect
import os
import pathlib
import tempfile
import unittest

import roofcast
from support import ROOT, Test, printed, without_dashes

LLM = str(ROOT / "validation_data" / "models" / "community_llm.csv")
P4 = str(ROOT / "validation_data" / "kernels" / "p4_fp32_pytorch.csv")


def version_free(document):
    document.pop("schema_version")
    return without_dashes(document)


class Commands(Test):
    def same(self, result, *words):
        self.assertEqual(result.to_dict(), version_free(printed(*words)))

    def test_memory(self):
        self.same(roofcast.memory("llama-3.1-8b", gpu=["a100", "rtx-4090"]), "memory", "-m", "llama-3.1-8b", "-g", "a100,rtx-4090")
        self.assertEqual(roofcast.memory("llama-3.1-8b", "h100"), roofcast.memory("llama-3.1-8b", gpu="h100"))
        engine = roofcast.memory("llama-3.1-8b", gpu="h100", software="vllm")
        self.same(engine, "memory", "-m", "llama-3.1-8b", "-g", "h100", "--software", "vllm")

    def test_serve_sim(self):
        slo = "ttft=200ms,tpot=30ms"
        result = roofcast.serve_sim("llama-3.1-8b", "a100", rate=5, requests=50, slo=slo)
        self.same(result, "serve-sim", "-m", "llama-3.1-8b", "-g", "a100", "--rate", "5", "--requests", "50", "--slo", slo)
        self.assertEqual(roofcast.serve_sim("llama-3.1-8b", "a100", rate=5, requests=50, slo={"ttft": "200ms", "tpot": "30ms"}), result)
        found = roofcast.serve_sim("llama-3.1-8b", "a100", find_rate=True, requests=50, slo="ttft=200ms")
        self.same(found, "serve-sim", "-m", "llama-3.1-8b", "-g", "a100", "--find-rate", "--requests", "50", "--slo", "ttft=200ms")

    def test_recommend_compare_cost(self):
        words = ["-m", "llama-3.1-8b", "-g", "a100-sxm4-80gb", "-g", "t4"]
        gpus = ["a100-sxm4-80gb", "t4"]
        self.same(roofcast.recommend("llama-3.1-8b", gpus, slo="ttft=1s,tpot=30ms", rate=5), "recommend", *words, "--slo", "ttft=1s,tpot=30ms",
                  "--rate", "5")
        self.same(roofcast.compare("llama-3.1-8b", gpus, date="2026-11-30"), "compare", *words, "--date", "2026-11-30")
        self.same(roofcast.cost("llama-3.1-8b", gpus, date="2026-11-30"), "cost", *words, "--date", "2026-11-30")

    def test_validate(self):
        result = roofcast.validate(LLM, by=["gpu", "model"])
        self.same(result, "validate", "--data", LLM, "--by", "gpu,model")
        self.assertGreater(len(result.groups), 5)
        self.assertEqual(len(result.groups.to_pandas()), len(result.groups))

    def test_calibrate(self):
        options = {"kernels_only": True, "stage": "streaming", "evaluations": 1, "folds": 2}
        result = roofcast.calibrate("p4", P4, **options)
        expected = printed("calibrate", "-g", "p4", "--data", P4, "--kernels-only", "--stage", "streaming", "--evaluations", "1", "--folds", "2")
        for fit in (result.to_dict()["fits"][0], expected["fits"][0]):
            fit.pop("file")  # each in a folder of its own
        self.assertEqual(result.to_dict()["fits"][0]["accuracy"], expected["fits"][0]["accuracy"])
        self.assertEqual(result.fits[0].gpus, ["p4"])

    def test_a_written_fit_is_used_at_once(self):
        with tempfile.TemporaryDirectory() as home:
            os.environ["XDG_DATA_HOME"] = home
            before = roofcast.predict("resnet50", "p4", precision="fp32").latency_ms
            roofcast.calibrate("p4", P4, kernels_only=True, evaluations=20, folds=2, write=True, yes=True)
            self.assertTrue(list(pathlib.Path(home).rglob("*.fit.toml")))
            self.assertNotEqual(roofcast.predict("resnet50", "p4", precision="fp32").latency_ms, before)

    def test_accuracy(self):
        self.same(roofcast.accuracy("rtx-4090"), "accuracy", "-g", "rtx-4090")

    def test_listings(self):
        gpus = roofcast.gpus()
        self.assertEqual([gpu.to_dict() for gpu in gpus], printed("gpu", "list")["gpus"])
        self.assertEqual(len(gpus.to_pandas()), len(gpus))
        self.assertIn("h100", repr(gpus))
        self.assertEqual([gpu.to_dict() for gpu in roofcast.gpus(vendor="AMD")], printed("gpu", "list", "--vendor", "AMD")["gpus"])
        self.assertGreater(len(roofcast.models(family="llm")), 100)
        self.assertTrue(any(engine.name.startswith("vllm") for engine in roofcast.software()))

    def test_wrong_calls_are_errors(self):
        with self.raises(key="slo"):
            roofcast.serve_sim("llama-3.1-8b", "a100", rate=1, slo="ttft=1parsec")
        with self.raises(key="by", found="gpus"):
            roofcast.validate(LLM, by="gpus")
        with self.assertRaises(roofcast.Error):
            roofcast.validate("/nonexistent.csv")

    def test_errors_of_files_say_where(self):
        with tempfile.TemporaryDirectory() as folder:
            rows = pathlib.Path(folder) / "rows.csv"
            rows.write_text("gpu,op,precision,batch,m,n,k,latency_us\nt4,gemm,fp16,1,64,64,64,10\nt4,gemm,fp16,1,64,64,many,10\n")
            profile = pathlib.Path(folder) / "mine.toml"
            profile.write_text('name = "Mine"\narchitecture = "ada"\nmemory_gb = 12\ncompute_tflops = "many"\nmemory_bandwidth_gbps = 504\n')
            with self.raises(file=str(profile), line=4, key="compute_tflops") as raised:
                roofcast.predict("resnet50", profile)
            self.assertTrue(raised.error.expected)
            result = roofcast.validate(rows)
            self.assertEqual((result.skipped[0].file, result.skipped[0].line), (str(rows), 3))

    def test_signatures_and_help(self):
        for name in ("predict", "sweep", "memory", "validate", "calibrate", "recommend", "serve_sim", "compare", "cost", "accuracy"):
            function = getattr(roofcast, name)
            keywords = [p for p in inspect.signature(function).parameters.values()]
            self.assertTrue(all(p.annotation is not p.empty for p in keywords), name)
            for keyword in keywords:
                self.assertIn(f"    {keyword.name}:", function.__doc__)
        self.assertIn("Prompt tokens in each sequence (default: 512", " ".join(roofcast.predict.__doc__.split()))


if __name__ == "__main__":
    unittest.main()
