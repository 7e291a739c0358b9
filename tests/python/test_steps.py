"""Steps of a serving engine."""

import concurrent.futures
import pickle
import unittest

import roofcast
from support import Test


class Steps(Test):
    @classmethod
    def setUpClass(cls):
        cls.steps = roofcast.StepModel("llama-3.1-8b", "h100-sxm5-80gb", software="vllm", precision="fp8")

    def test_a_step_of_decodes_is_a_pass_of_predict(self):
        p = roofcast.predict("llama-3.1-8b", "h100-sxm5-80gb", software="vllm", precision="fp8", batch=64, prompt=2047, generate=2)
        self.assertAlmostEqual(self.steps.exact_step_us(decode_sequences=64, context=2048) / (p.tpot_ms * 1e3), 1, places=9)
        self.assertAlmostEqual(self.steps.step_us(0, 64, 2048) / (p.tpot_ms * 1e3), 1, delta=0.01)

    def test_weights_are_read_once(self):
        apart = self.steps.step_us(512) + self.steps.step_us(0, 64, 1024)
        both = self.steps.step_us(512, 64, 1024)
        self.assertLess(both, apart)
        self.assertGreater(both, self.steps.step_us(512))

    def test_sizes_beyond_the_range_are_errors(self):
        self.assertEqual((self.steps.max_sequences, self.steps.max_tokens, self.steps.max_context), (1024, 65536, 131072))
        with self.raises(key="decode_sequences", found="1025"):
            self.steps.step_us(0, 1025)
        with self.raises(key="context"):
            self.steps.step_us(0, 1, 131073)
        with self.raises(what="unknown setting", found="precison"):
            roofcast.StepModel("llama-3.1-8b", "t4", precison="fp8")

    def test_threads_and_copies_agree(self):
        sizes = [(37 * i % 4096, 1 + 7 * i % 512, 1 + 131 * i % 8192) for i in range(400)]
        expected = [self.steps.step_us(*size) for size in sizes]
        other = pickle.loads(pickle.dumps(self.steps))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(lambda size: other.step_us(*size), sizes)), expected)


if __name__ == "__main__":
    unittest.main()
