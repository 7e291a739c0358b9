#pragma once
/// One function a `model_type` of Hugging Face configs. Defaults of absent keys are those of the transformers library.

#include "roofcast/workload.hpp"
#include "workload/json_reader.hpp"

namespace roofcast::hugging_face {

DecoderLlm llama(const JsonReader& config);
DecoderLlm mistral(const JsonReader& config);
DecoderLlm mixtral(const JsonReader& config);
DecoderLlm qwen2(const JsonReader& config);
DecoderLlm qwen2_moe(const JsonReader& config);
DecoderLlm qwen3(const JsonReader& config);
DecoderLlm qwen3_moe(const JsonReader& config);
DecoderLlm deepseek_v3(const JsonReader& config);
DecoderLlm gpt_oss(const JsonReader& config);
DecoderLlm gpt2(const JsonReader& config);
DecoderLlm gptj(const JsonReader& config);
DecoderLlm opt(const JsonReader& config);
DecoderLlm phi(const JsonReader& config);
DecoderLlm falcon(const JsonReader& config);
DecoderLlm gemma(const JsonReader& config);
DecoderLlm gemma2(const JsonReader& config);
DecoderLlm gemma3_text(const JsonReader& config);
DecoderLlm glm4(const JsonReader& config);
DecoderLlm gpt_neox(const JsonReader& config);
DecoderLlm starcoder2(const JsonReader& config);
DecoderLlm smollm3(const JsonReader& config);
DecoderLlm deepseek_v32(const JsonReader& config);
DecoderLlm deepseek_v4(const JsonReader& config);
DecoderLlm glm4_moe(const JsonReader& config);
DecoderLlm glm_moe_dsa(const JsonReader& config);
DecoderLlm minimax_m2(const JsonReader& config);
DecoderLlm minimax_m3(const JsonReader& config);
DecoderLlm qwen3_5(const JsonReader& config);
DecoderLlm nemotron_h(const JsonReader& config);
DecoderLlm nemotron_nas(const JsonReader& config);
DecoderLlm kimi_linear(const JsonReader& config);
DecoderLlm mimo(const JsonReader& config);
DecoderLlm mimo_v2_flash(const JsonReader& config);
DecoderLlm step3p7(const JsonReader& config);
DecoderLlm gemma4_text(const JsonReader& config);
DecoderLlm llama4_text(const JsonReader& config);

/// Element-wise kernels of the activation that `key` names, as read_activation() counts them; `standard` when absent.
double eager_activation(const JsonReader& config, const char* key, const char* standard);

/// Width of an MLP over that of its block.
double mlp_ratio(const JsonReader& config);

/// Outputs of the classifier; a config without labels describes a model without one.
std::int64_t classes(const JsonReader& config);

Encoder bart(const JsonReader& config);
Encoder bert(const JsonReader& config);
Encoder roberta(const JsonReader& config);
Encoder electra(const JsonReader& config);
Encoder deberta_v2(const JsonReader& config);

Vit vit(const JsonReader& config);
Vit deit(const JsonReader& config);
Vit beit(const JsonReader& config);
Vit clip(const JsonReader& config);
Swin swin(const JsonReader& config);
Swin swin_v2(const JsonReader& config);

ConvNet resnet(const JsonReader& config);
ConvNet convnext(const JsonReader& config);
ConvNet efficientnet(const JsonReader& config);
ConvNet mobilenet_v2(const JsonReader& config);
ConvNet regnet(const JsonReader& config);
ConvNet detr(const JsonReader& config);
ConvNet conditional_detr(const JsonReader& config);
ConvNet maskformer(const JsonReader& config);
ConvNet mask2former(const JsonReader& config);
ConvNet segformer(const JsonReader& config);

VisionLanguage qwen2_vl(const JsonReader& config);
VisionLanguage qwen2_5_vl(const JsonReader& config);
VisionLanguage mllama(const JsonReader& config);

/// Reads models published with or without a vision tower: a decoder alone if the config has no `vision_config`.
Architecture qwen3_vl(const JsonReader& config);
Architecture qwen3_5_vl(const JsonReader& config);
Architecture kimi_k25(const JsonReader& config);
Architecture minimax_m3_vl(const JsonReader& config);
Architecture gemma3(const JsonReader& config);
Architecture gemma4(const JsonReader& config);
Architecture llama4(const JsonReader& config);
Architecture mistral3(const JsonReader& config);

}  // namespace roofcast::hugging_face
