#include "workload/readers.hpp"

namespace roofcast {

TransformerXl read_transformer_xl(TableReader& reader) {
    TransformerXl model;
    model.layers = reader.count("layers", 1, largest_size);
    model.hidden = reader.count("hidden", 1, largest_size);
    model.heads = reader.count("heads", 1, largest_size);
    model.head_dim = reader.count("head_dim", 1, largest_size);
    model.intermediate = reader.count("intermediate", 1, largest_size);
    model.vocabulary = reader.count("vocabulary", 1, largest_size);
    model.segment = reader.count_if("segment", 1, largest_size).value_or(model.segment);
    model.memory = reader.count_if("memory", 0, largest_size).value_or(0);
    model.clusters = reader.counts_if("clusters", 1, largest_size);
    model.divisor = reader.count_if("divisor", 1, largest_size).value_or(1);
    if (model.divisor > 1 && model.clusters.empty())
        throw reader.error("divisor", "without clusters all embeddings are of one width", {}, "clusters as well");
    std::int64_t before = 0, width = model.hidden;
    for (const std::int64_t first : model.clusters) {
        if (first <= before || first >= model.vocabulary) throw reader.error("clusters", "clusters grow, and end with the vocabulary");
        before = first;
        width /= model.divisor;
        if (width < 1) throw reader.error("divisor", "the last cluster's embeddings would have no width");
    }
    return model;
}

}  // namespace roofcast
