"""One prediction, its errors and its forms."""

import copy
import pickle
import unittest
import warnings

import roofcast
from support import Test, printed, without_dashes


class Predict(Test):
    def test_prediction_is_that_of_the_program(self):
        for model, gpu, options in [
            ("llama-3.1-8b", "rtx-4090", {"precision": "fp16"}),
            ("llama-3.1-70b", "h100", {"tp": 8, "batch": 16, "prompt": 1024, "generate": 64, "software": "vllm"}),
            ("resnet50", "t4", {"batch": 8, "execution": "tensorrt"}),
            ("llama-3.1-8b", "a100", {"draft": "llama-3.2-1b", "draft_tokens": 4, "acceptance": 0.7, "prefill_chunk": 256}),
            ("llama-3.1-70b", "t4", {}),
        ]:
            with self.subTest(model=model, gpu=gpu):
                words = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
                expected = printed("predict", "--gpu", gpu, "--model", model, *words)["predictions"][0]
                self.assertEqual(roofcast.predict(model, gpu, **options).to_dict(), without_dashes(expected))

    def test_figures_are_attributes(self):
        p = roofcast.predict("llama-3.1-8b", "h100", precision="fp8", batch=8)
        self.assertEqual(p.precision, "fp8")
        self.assertGreater(p.tpot_ms, 1)
        self.assertLessEqual(p.tpot_ms_low, p.tpot_ms)
        self.assertEqual(p.latency_ms, p["latency_ms"])
        self.assertEqual([phase.phase for phase in p.phases], ["prefill", "decode"])
        self.assertEqual(p.parallel.gpus, 1)
        self.assertIn("tpot_ms", dir(p))
        with self.assertRaisesRegex(AttributeError, "did you mean latency_ms"):
            p.latency_m
        with self.assertRaises(AttributeError):
            p.latency_ms = 1

    def test_what_does_not_fit_has_no_times(self):
        p = roofcast.predict("llama-3.1-70b", "t4")
        self.assertIsNone(p.latency_ms)
        self.assertIs(p.fits, False)
        self.assertIn("does not fit", p.obstacle)

    def test_explain_adds_operators(self):
        p = roofcast.predict("llama-3.1-8b", "h100", explain=True)
        self.assertGreater(len(p.explain.phases[0].operators), 3)

    def test_text_html_and_copies(self):
        p = roofcast.predict("llama-3.1-8b", "h100")
        self.assertIn("TTFT", repr(p))
        fragment = p._repr_html_()
        self.assertIn("<table>", fragment)
        self.assertNotIn("<script", fragment)
        self.assertTrue(p.to_html().lower().startswith("<!doctype html>"))
        self.assertTrue(all(chart.lstrip().startswith("<svg") for chart in p.charts()))
        again = pickle.loads(pickle.dumps(p))
        self.assertEqual(again, p)
        self.assertEqual(again._repr_html_(), fragment)

    def test_a_choice_of_roofcast_is_a_warning(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            roofcast.Gpu("h100")
        self.assertTrue(any("h100 is ambiguous" in str(w.message) for w in caught if w.category is roofcast.Note))


class Errors(Test):
    def test_names_are_checked(self):
        with self.raises(what="unknown model", key="model", found="lama-3.1-8b") as raised:
            roofcast.predict("lama-3.1-8b", "h100")
        self.assertIn("llama-3.1-8b", raised.error.suggestion)
        with self.raises(what="unknown GPU", key="gpu") as raised:
            roofcast.predict("llama-3.1-8b", "h10")
        self.assertIn("did you mean", raised.error.suggestion)

    def test_values_are_checked(self):
        with self.raises(what="unknown precision", key="precision", found="fp17") as raised:
            roofcast.predict("llama-3.1-8b", "h100", precision="fp17")
        self.assertIn("did you mean fp16", raised.error.suggestion)
        with self.raises(key="tp", found="28"):
            roofcast.predict("llama-3.1-8b", "h100", tp=28)
        with self.raises(key="batch", found="0"):
            roofcast.predict("llama-3.1-8b", "h100", batch=0)
        with self.raises(key="execution", found="graphs") as raised:
            roofcast.predict("llama-3.1-8b", "h100", execution="graphs")
        self.assertIn("cuda_graph", raised.error.suggestion)
        with self.raises(key="software", found="vlm"):
            roofcast.predict("llama-3.1-8b", "h100", software="vlm")

    def test_texts_name_keywords(self):
        with self.raises(key="gpus") as raised:
            roofcast.predict("llama-3.1-8b", "h100", gpus=4, tp=2)
        self.assertEqual(raised.error.what, "tp times pp times dp is not gpus")
        self.assertNotIn("--", str(raised.error))

    def test_unknown_keywords_are_refused(self):
        with self.assertRaises(TypeError):
            roofcast.predict("llama-3.1-8b", "h100", precison="fp8")

    def test_errors_are_value_errors_that_travel(self):
        try:
            roofcast.predict("llama-3.1-8b", "h100", precision="fp17")
        except ValueError as e:
            again = pickle.loads(pickle.dumps(e))
            self.assertEqual((str(again), again.key, again.found), (str(e), "precision", "fp17"))
            self.assertEqual(str(copy.copy(e)), str(e))


if __name__ == "__main__":
    unittest.main()
