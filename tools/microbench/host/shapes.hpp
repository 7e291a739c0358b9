#pragma once
/// Shapes of layers of well-known models, as their papers and published configurations give them.

#include <array>
#include <cstdint>

namespace roofcast::microbench {

/// A linear layer: n outputs, k inputs.
struct LinearLayer {
    std::int64_t n, k;
};

inline constexpr std::array<LinearLayer, 40> linear_layers{{
    {2304, 768},   {768, 768},    {3072, 768},   {768, 3072},                    // BERT base, ViT-B/16, GPT-2
    {3072, 1024},  {1024, 1024},  {4096, 1024},  {1024, 4096},                   // BERT large, ViT-L/16
    {1152, 384},   {1536, 384},   {384, 1536},   {1000, 768},   {1000, 2048},    // MiniLM; classifiers
    {3072, 2048},  {2048, 2048},  {16384, 2048}, {2048, 8192},  {128256, 2048},  // Llama 3.2 1B
    {5120, 3072},  {3072, 3072},  {16384, 3072}, {3072, 8192},                   // Llama 3.2 3B
    {6144, 4096},  {4096, 4096},  {28672, 4096}, {4096, 14336}, {128256, 4096},  // Llama 3.1 8B
    {12288, 4096}, {22016, 4096}, {4096, 11008},                                 // Llama 2 7B
    {15360, 5120}, {5120, 5120},  {27648, 5120}, {5120, 13824}, {32000, 5120},   // Llama 2 13B
    {10240, 8192}, {8192, 8192},  {57344, 8192}, {8192, 28672},                  // Llama 3 70B
    {14336, 4096},                                                               // Mixtral 8x7B, one expert
}};

/// A convolution of an image of `size` × `size`.
struct ConvolutionLayer {
    std::int64_t in_channels, size, out_channels, kernel_size, stride, groups;
};

inline constexpr std::array<ConvolutionLayer, 40> convolution_layers{{
    // ResNet-50
    {3, 224, 64, 7, 2, 1},
    {64, 56, 64, 1, 1, 1},
    {64, 56, 64, 3, 1, 1},
    {64, 56, 256, 1, 1, 1},
    {256, 56, 64, 1, 1, 1},
    {256, 56, 128, 1, 1, 1},
    {128, 56, 128, 3, 2, 1},
    {128, 28, 512, 1, 1, 1},
    {256, 56, 512, 1, 2, 1},
    {512, 28, 128, 1, 1, 1},
    {128, 28, 128, 3, 1, 1},
    {256, 28, 256, 3, 2, 1},
    {256, 14, 1024, 1, 1, 1},
    {1024, 14, 256, 1, 1, 1},
    {256, 14, 256, 3, 1, 1},
    {512, 14, 512, 3, 2, 1},
    {512, 7, 2048, 1, 1, 1},
    {2048, 7, 512, 1, 1, 1},
    {512, 7, 512, 3, 1, 1},
    // VGG-16
    {3, 224, 64, 3, 1, 1},
    {64, 224, 64, 3, 1, 1},
    {128, 112, 128, 3, 1, 1},
    {256, 56, 256, 3, 1, 1},
    {512, 28, 512, 3, 1, 1},
    // MobileNet, EfficientNet: depthwise and pointwise
    {32, 112, 32, 3, 1, 32},
    {96, 112, 96, 3, 2, 96},
    {144, 56, 144, 3, 1, 144},
    {240, 28, 240, 5, 1, 240},
    {672, 14, 672, 5, 1, 672},
    {24, 56, 144, 1, 1, 1},
    {112, 14, 672, 1, 1, 1},
    // ConvNeXt
    {3, 224, 128, 4, 4, 1},
    {128, 56, 128, 7, 1, 128},
    {256, 28, 256, 7, 1, 256},
    {512, 14, 512, 7, 1, 512},
    // YOLOv8 at 640
    {3, 640, 16, 3, 2, 1},
    {32, 160, 32, 3, 1, 1},
    {64, 80, 64, 3, 1, 1},
    {128, 40, 128, 3, 1, 1},
    // ResNeXt-101 32x4d
    {256, 28, 256, 3, 1, 32},
}};

/// Heads of an attention layer.
struct AttentionLayer {
    std::int64_t heads, kv_heads, head_dim;
};

inline constexpr std::array<AttentionLayer, 10> attention_layers{{
    {12, 12, 64},   // BERT base, ViT-B/16
    {16, 16, 64},   // BERT large, ViT-L/16
    {12, 12, 32},   // MiniLM
    {32, 8, 64},    // Llama 3.2 1B
    {24, 8, 128},   // Llama 3.2 3B
    {32, 8, 128},   // Llama 3.1 8B, Mistral 7B, Mixtral 8x7B
    {32, 32, 128},  // Llama 2 7B
    {40, 40, 128},  // Llama 2 13B
    {64, 8, 128},   // Llama 3 70B
    {16, 2, 128},   // Qwen2.5 3B
}};

/// Hidden sizes that norms, activations and embeddings run over.
inline constexpr std::array<std::int64_t, 10> hidden_sizes{384, 768, 1024, 2048, 3072, 4096, 5120, 8192, 11008, 14336};

}  // namespace roofcast::microbench
