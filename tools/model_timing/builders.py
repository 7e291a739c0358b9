"""Models with random weights from their configurations. Imports torch."""
import torch

from .campaign import CaseError

LLAMA = {
    "llama-3.2-1b": dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8,
                         vocab_size=128256, head_dim=64, tie_word_embeddings=True),
    "llama-3.2-3b": dict(hidden_size=3072, intermediate_size=8192, num_hidden_layers=28, num_attention_heads=24, num_key_value_heads=8,
                         vocab_size=128256, head_dim=128, tie_word_embeddings=True),
    "llama-3.1-8b": dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
                         vocab_size=128256),
    "llama-2-7b": dict(hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32, vocab_size=32000),
    "llama-2-13b": dict(hidden_size=5120, intermediate_size=13824, num_hidden_layers=40, num_attention_heads=40, vocab_size=32000),
}
BERT = {
    "bert-base": dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072),
    "bert-large": dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096),
    "all-minilm-l6-v2": dict(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536),
}
TIMM = {
    "resnet50": "resnet50",
    "convnext-base": "convnext_base",
    "vit-base-patch16-224": "vit_base_patch16_224",
    "vit-large-patch16-224": "vit_large_patch16_224",
}
TORCHVISION = {"resnet50": "resnet50", "convnext-base": "convnext_base", "vit-base-patch16-224": "vit_b_16", "vit-large-patch16-224": "vit_l_16"}
POSITIONS = 8192  # longest prompt or cache of any case, and room


def image_model(model_id):
    try:
        import timm

        return timm.create_model(TIMM[model_id], pretrained=False)
    except ImportError:
        pass
    try:
        import torchvision
    except ImportError as error:
        raise CaseError("needs timm or torchvision") from error
    return getattr(torchvision.models, TORCHVISION[model_id])(weights=None)


def language_model(model_id):
    """A Hugging Face model; random weights are drawn in the default dtype, on the default device."""
    try:
        import transformers as t
    except ImportError as error:
        raise CaseError("needs transformers") from error
    if model_id in BERT:
        return t.BertModel(t.BertConfig(**BERT[model_id]), add_pooling_layer=False)
    if model_id in LLAMA:
        return t.LlamaForCausalLM(t.LlamaConfig(max_position_embeddings=POSITIONS, **LLAMA[model_id]))
    if model_id == "mixtral-8x7b-8-layers":
        config = t.MixtralConfig(hidden_size=4096, intermediate_size=14336, num_hidden_layers=8, num_attention_heads=32, num_key_value_heads=8,
                                 num_local_experts=8, num_experts_per_tok=2, vocab_size=32000, max_position_embeddings=POSITIONS)
        return t.MixtralForCausalLM(config)
    raise CaseError(f"no builder for {model_id}")


def vision_language_model():
    """Qwen2.5-VL 3B: vision tower of 32 layers, language model of 36."""
    try:
        import transformers as t
    except ImportError as error:
        raise CaseError("needs transformers") from error
    text = dict(hidden_size=2048, intermediate_size=11008, num_hidden_layers=36, num_attention_heads=16, num_key_value_heads=2, vocab_size=151936,
                tie_word_embeddings=True, max_position_embeddings=POSITIONS,
                rope_scaling={"type": "mrope", "rope_type": "default", "mrope_section": [16, 24, 24]})
    vision = dict(depth=32, hidden_size=1280, intermediate_size=3420, num_heads=16, out_hidden_size=2048, patch_size=14, spatial_merge_size=2,
                  window_size=112, fullatt_block_indexes=[7, 15, 23, 31])
    try:
        config = t.Qwen2_5_VLConfig(text_config=text, vision_config=vision)
    except TypeError:  # older releases keep the text's fields at the top
        config = t.Qwen2_5_VLConfig(vision_config=vision, **text)
    return t.Qwen2_5_VLForConditionalGeneration(config)


DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "int8": torch.bfloat16}


def built(case, device):
    """The case's model in its precision, for inference, on `device`."""
    dtype = DTYPES[case.precision]
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            if case.model.family == "vlm":
                model = vision_language_model()
            elif case.model.family in ("cnn", "vit"):
                model = image_model(case.model.id)
            else:
                model = language_model(case.model.id)
    finally:
        torch.set_default_dtype(before)
    model = model.eval().requires_grad_(False)
    if case.model.channels_last:
        model = model.to(memory_format=torch.channels_last)
    return quantized(model) if case.precision == "int8" else model


def quantized(model):
    """Weights of linear layers in int8."""
    try:
        from torchao.quantization import Int8WeightOnlyConfig, quantize_
    except ImportError as error:
        raise CaseError("int8 weights need torchao") from error
    quantize_(model, Int8WeightOnlyConfig())
    return model
