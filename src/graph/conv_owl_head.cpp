// Detection of what texts name: a text encoder makes a query of each text, which all places are compared with. Minderer et al., Simple
// Open-Vocabulary Object Detection with Vision Transformers (2022); transformers library, OwlViTForObjectDetection.

#include "graph/conv_query_transformer.hpp"

namespace roofcast {

namespace {

constexpr Count vocabulary = 49408, default_tokens = 16;  // CLIP's words; OWL-ViT's texts are short
constexpr double quick_gelu_kernels = 3;

/// CLIP's text encoder on `texts` of an image. Radford et al. (2021), section 2.4.
void encode_texts(const QueryTransformer& t, Count texts, Count tokens, Count layers) {
    ConvBuilder& b = t.b;
    const Count count = texts * tokens;
    b.segment("texts");
    constexpr double embeddings = 3, mask_kernels = 12;  // words, positions, their sum; masks of padding and of what comes later
    b.pointwise("embedding", t.rows(count), 1, 1, Fusion::chain, static_cast<double>((vocabulary + tokens) * t.channels)).eager_kernels =
        embeddings;
    b.pointwise_kernels("masks", {.channels = tokens, .height = count, .width = 1}, mask_kernels, 1);
    b.segment("text layer", layers);
    b.normalize(t.rows(count), ConvNorm::layer);
    for (int i = 0; i < 3; ++i) b.linear(count, t.channels, t.channels);
    const HeadShape shape{.windows = texts,
                          .queries = tokens,
                          .keys = tokens,
                          .heads = t.heads,
                          .key_dim = t.channels / t.heads,
                          .value_dim = t.channels / t.heads};
    constexpr double score_masks = 2;
    separate_attention(b, shape, score_masks);
    b.linear(count, t.channels, t.channels);
    b.add(t.rows(count));
    b.normalize(t.rows(count), ConvNorm::layer);
    b.linear(count, t.channels, t.hidden);
    b.pointwise_kernels("quick_gelu", {.channels = t.hidden, .height = count, .width = 1}, quick_gelu_kernels, 1);
    b.linear(count, t.hidden, t.channels);
    b.add(t.rows(count));
    b.segment("text_queries");
    b.normalize(t.rows(count), ConvNorm::layer);
    constexpr double pooling = 3, normalization = 3;  // the last word of each text, and lengths of queries
    b.pointwise_kernels("pool_texts", t.rows(texts), pooling, 1);
    b.linear(texts, t.channels, t.channels, false);
    b.pointwise_kernels("normalize_texts", t.rows(texts), normalization, 1);
}

}  // namespace

void owl_head(ConvBuilder& b, const Map& x, const ConvLayer& layer) {
    constexpr Count text_width = 512;
    const Kept features(b, x);
    const Count texts = layer.size, places = x.places();
    const QueryTransformer text = query_transformer(b, text_width, layer);
    const QueryTransformer image{.b = b, .channels = x.channels, .heads = 1, .hidden = x.channels};
    encode_texts(text, texts, layer.tokens > 0 ? Count(layer.tokens) : default_tokens, layer.layers);
    b.segment("owl_head");
    const Map rows = image.rows(places);
    b.normalize(rows, ConvNorm::layer);
    constexpr double merging = 2;  // the class token of each place, and their product
    b.pointwise_kernels("merge_class_token", rows, merging, 1);
    b.normalize(rows, ConvNorm::layer);
    b.linear(places, x.channels, text_width);
    constexpr double normalization = 3;
    b.pointwise_kernels("normalize_places", text.rows(places), normalization, 1);
    b.gemm("logits", 1, places, texts, text_width);
    for (int i = 0; i < 2; ++i) b.linear(places, x.channels, 1);  // shift and scale
    constexpr double scaling = 6;
    b.pointwise_kernels("scale_logits", {.channels = texts, .height = places, .width = 1}, scaling, 1);
    image.perceptron(places, 2, box_sides, false, Activation::gelu);
    constexpr double boxes = 6;  // their places, sums and a sigmoid
    b.pointwise_kernels("boxes", {.channels = box_sides, .height = places, .width = 1}, boxes, 1);
}

}  // namespace roofcast
