"""GPUs and models as objects."""

import json
import pathlib
import pickle
import tempfile
import unittest

import roofcast
from support import ROOT, Test, printed

MINIMAL = 'name = "My GPU"\narchitecture = "ada"\nmemory_gb = 12\ncompute_tflops = 142\nmemory_bandwidth_gbps = 504\n'
CONFIG = {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
          "intermediate_size": 8192, "vocab_size": 128256, "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
          "tie_word_embeddings": True, "hidden_act": "silu", "head_dim": 64}


class Gpus(Test):
    def test_values_of_the_file_and_derived_ones(self):
        gpu = roofcast.Gpu("h100-sxm5-80gb")
        self.assertEqual((gpu.id, gpu.name, gpu.vendor), ("h100-sxm5-80gb", "H100 SXM5 80GB", "NVIDIA"))
        self.assertEqual(gpu.memory_bandwidth_gb_s, 3350)
        self.assertEqual(gpu.bandwidth_gb_s, 3350)
        self.assertEqual(gpu.power_tdp_watts, 700)
        self.assertEqual(gpu.usable_gb, printed("gpu", "show", "h100-sxm5-80gb")["gpu"]["usable_gb"])
        self.assertEqual(gpu.precisions[0].precision, "fp64")
        self.assertIn("<table>", gpu._repr_html_())
        with self.assertRaisesRegex(AttributeError, "did you mean bandwidth_gb_s"):
            gpu.bandwith_gb_s

    def test_a_faster_memory_makes_decoding_faster(self):
        gpu = roofcast.Gpu("h100-sxm5-80gb")
        before = roofcast.predict("llama-3.1-8b", gpu).tpot_ms
        self.assertEqual(before, roofcast.predict("llama-3.1-8b", "h100-sxm5-80gb").tpot_ms)
        gpu.memory_bandwidth_gb_s = 6700
        after = roofcast.predict("llama-3.1-8b", gpu).tpot_ms
        # Twice the bandwidth: at most twice as fast, and much of the step is traffic.
        self.assertLess(after, before / 1.3)
        self.assertGreater(after, before / 2.01)
        self.assertEqual(roofcast.Gpu("h100-sxm5-80gb").memory_bandwidth_gb_s, 3350)
        changed = roofcast.memory("llama-3.1-8b", gpu=gpu)  # commands take changed ones, too
        same = json.dumps(changed.to_dict()).replace("h100-sxm5-80gb-changed", "h100-sxm5-80gb")
        self.assertEqual(json.loads(same), roofcast.memory("llama-3.1-8b", gpu="h100-sxm5-80gb").to_dict())

    def test_changes_at_once_by_keyword(self):
        gpu = roofcast.Gpu("h100-sxm5-80gb", capacity_gb=160, tdp_watts=1000)
        self.assertEqual((gpu.memory_capacity_gb, gpu.power_tdp_watts), (160, 1000))
        gpu.update(base_clock_mhz=1000, boost_clock_mhz=1800, tensor_clock_mhz=1700)
        self.assertEqual(gpu.compute_base_clock_mhz, 1000)

    def test_wrong_changes_are_refused_and_leave_it_as_it_was(self):
        gpu = roofcast.Gpu("h100-sxm5-80gb")
        with self.raises() as raised:
            gpu.memory_bandwidth_gb_s = -5
        self.assertIn("bandwidth_gb_s", str(raised.error))
        with self.raises(key="bandwith_gb_s") as raised:
            gpu.bandwith_gb_s = 5
        self.assertIn("did you mean", raised.error.suggestion)
        self.assertEqual(gpu.memory_bandwidth_gb_s, 3350)
        self.assertEqual(roofcast.predict("llama-3.1-8b", gpu).gpu, "h100-sxm5-80gb")

    def test_values_may_go_to_tables_that_a_short_profile_lacks(self):
        gpu = roofcast.Gpu.from_toml(
            'name = "short"\narchitecture = "ada"\nmemory_gb = 24\nmemory_bandwidth_gbps = 1008\ncompute_tflops = 165.2\n')
        gpu.update(power_tdp_watts=300, compute_sm_count=128)
        self.assertEqual((gpu.power_tdp_watts, gpu.compute_sm_count), (300, 128))
        with self.assertRaisesRegex(roofcast.Error, "tdp_wats"):
            gpu.power_tdp_wats = 300

    def test_a_changed_one_is_compared_with_the_one_that_it_came_from(self):
        own = roofcast.Gpu("h100-sxm5-80gb")
        changed = roofcast.Gpu("h100-sxm5-80gb", memory_bandwidth_gb_s=4800)
        self.assertEqual((own.id, changed.id, changed.name), ("h100-sxm5-80gb", "h100-sxm5-80gb-changed", "H100 SXM5 80GB (changed)"))
        rows = roofcast.compare("llama-3.1-8b", gpu=[own, changed, "a100-sxm4-80gb"]).to_dict()
        self.assertIn('"h100-sxm5-80gb-changed"', json.dumps(rows))
        self.assertIn('"h100-sxm5-80gb"', json.dumps(rows))
        # A change that no prediction reads leaves the fit as it is.
        noted = roofcast.Gpu("h100-sxm5-80gb", notes="another note", id="mine")
        self.assertEqual(noted.id, "mine")
        self.assertEqual(roofcast.predict("llama-3.1-8b", noted).tpot_ms, roofcast.predict("llama-3.1-8b", own).tpot_ms)
        prices = [roofcast.cost("llama-3.1-8b", gpu).to_dict()["rows"][0]["usd_per_hour"] for gpu in (noted, own)]
        self.assertEqual(prices[0], prices[1])
        noted.memory_bandwidth_gb_s = 6700  # keeps what it is called
        self.assertEqual((noted.id, noted.copy().id, pickle.loads(pickle.dumps(noted)).id), ("mine", "mine", "mine"))
        sweep = roofcast.sweep("llama-3.1-8b", [own, changed, noted], batch=1)
        self.assertEqual(list(sweep["gpu"]), ["h100-sxm5-80gb", "h100-sxm5-80gb-changed", "mine"])

    def test_errors_name_the_object_and_no_file(self):
        gpu = roofcast.Gpu("h100-sxm5-80gb", memory_bandwidth_gb_s=4800)
        with self.assertRaises(roofcast.Error) as raised:
            gpu.memory_bandwidth_gb_s = -1
        self.assertTrue(str(raised.exception).startswith("Gpu h100-sxm5-80gb-changed: memory.bandwidth_gb_s: "), str(raised.exception))
        self.assertEqual((raised.exception.file, raised.exception.line), (None, None))
        with self.assertRaises(roofcast.Error) as raised:
            roofcast.Gpu.from_toml(MINIMAL.replace("142", "-142"))
        self.assertRegex(str(raised.exception), "^Gpu [a-z-]+, line [0-9]+: compute_tflops: ")
        self.assertNotIn(".toml", str(raised.exception))

    def test_of_a_file_of_ones_own_without_a_fit_the_copy_has_no_origin(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "mine.toml"
            file.write_text(MINIMAL)
            changed = roofcast.Gpu.from_file(file, notes="another note")
        self.assertEqual(changed.id, "mine-changed")
        self.assertNotIn("changed_from", changed.document)
        self.assertGreater(roofcast.predict("resnet50", changed).latency_ms, 0)

    def test_five_lines_make_one(self):
        gpu = roofcast.Gpu.from_toml(MINIMAL)
        self.assertEqual(gpu.memory_gb, 12)
        made = roofcast.predict("resnet50", gpu)
        self.assertGreater(made.latency_ms, 0)
        self.assertTrue(made.assumed)
        with self.raises() as raised:
            roofcast.Gpu.from_toml(MINIMAL.replace("142", "-142"))
        self.assertIn("compute_tflops", str(raised.error))
        with self.raises(what="not valid TOML"):
            roofcast.Gpu.from_toml("name = ")
        with self.raises() as raised:
            roofcast.Gpu.from_toml(MINIMAL + "memory_gbs = 4\n")
        self.assertNotIn("/tmp", str(raised.error))

    def test_files_and_copies(self):
        gpu = roofcast.Gpu.from_file(ROOT / "gpus" / "t4.toml")
        self.assertEqual(roofcast.predict("resnet50", gpu).latency_ms, roofcast.predict("resnet50", "t4").latency_ms)
        gpu.memory_bandwidth_gb_s = 640
        other = pickle.loads(pickle.dumps(gpu))
        self.assertEqual(roofcast.predict("resnet50", other), roofcast.predict("resnet50", gpu))
        third = gpu.copy()
        third.memory_bandwidth_gb_s = 100
        self.assertEqual(gpu.memory_bandwidth_gb_s, 640)

    def test_shipped_profiles_survive_a_change_that_changes_nothing(self):
        for listed in roofcast.gpus()[::9]:
            with self.subTest(gpu=listed.id):
                gpu = roofcast.Gpu(listed.id)
                gpu.update(notes="another note")
                self.assertEqual(gpu.bandwidth_gb_s, roofcast.Gpu(listed.id).bandwidth_gb_s)


class Models(Test):
    def test_values_of_the_file_and_derived_ones(self):
        model = roofcast.Model("llama-3.1-8b")
        self.assertEqual((model.layers, model.kv_heads, model.family), (32, 8, "llm"))
        self.assertEqual(model.parameters, 8030261248)
        self.assertEqual(model.kv_bytes_per_token, 131072)

    def test_half_the_layers(self):
        model = roofcast.Model("llama-3.1-8b")
        before = roofcast.predict(model, "h100-sxm5-80gb")
        model.layers = 16
        # 8030261248 less 16 layers of 218112000: (4096 · 6144 + 4096² + 3 · 4096 · 14336 + 2 · 4096)
        self.assertEqual(model.parameters, 8030261248 - 16 * 218112000)
        self.assertLess(roofcast.predict(model, "h100-sxm5-80gb").tpot_ms, 0.65 * before.tpot_ms)
        with self.raises() as raised:
            model.layers = 0
        self.assertIn("layers", str(raised.error))

    def test_of_a_config(self):
        model = roofcast.Model.from_config(CONFIG, name="my-llama")
        self.assertEqual(model.id, "my-llama")
        self.assertEqual(model.parameters, 1235814400)  # Llama 3.2 1B, as its checkpoint has
        model.num_hidden_layers = 8
        self.assertLess(model.parameters, 1235814400)
        with self.raises():
            roofcast.Model.from_config({"model_type": "no-such-type"})

    def test_of_toml_and_files(self):
        net = (ROOT / "models" / "llama-3.toml").read_text()
        with self.raises(what="the file has several models"):
            roofcast.Model.from_toml(net)
        model = roofcast.Model(str(ROOT / "models" / "llama-3.toml") + "#llama-3.1-8b")
        self.assertEqual(roofcast.predict(model, "t4").to_dict(), roofcast.predict("llama-3.1-8b", "t4").to_dict())
        again = pickle.loads(pickle.dumps(roofcast.Model("llama-3.1-8b", layers=16)))
        self.assertEqual(again.layers, 16)

    def test_a_changed_net_keeps_the_blocks_beside_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            blocks = pathlib.Path(folder) / "blocks"
            blocks.mkdir()
            (blocks / "mine.toml").write_text('source = "a test"\n[blocks.mine]\nlayers = [{conv = "channels", kernel = 3}]\n')
            net = pathlib.Path(folder) / "net.toml"
            net.write_text('id = "net"\nfamily = "cnn"\nsource = "a test"\nlayers = [{mine = 8}]\n')
            model = roofcast.Model.from_file(str(net))
            model.width_multiple = 2.0
            self.assertEqual(model.parameters, 3 * 9 * 16 + 2 * 16)

    def test_hub_configs_can_be_changed(self):
        model = roofcast.Model("deepseek-ai/DeepSeek-V3.2")
        self.assertGreater(model.num_hidden_layers, 50)


if __name__ == "__main__":
    unittest.main()
