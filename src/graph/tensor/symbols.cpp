// What the symbols in a net's inputs stand for in a run.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "graph/tensor/known.hpp"
#include "io/identifier.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

using Sizes = std::map<std::string, std::int64_t>;

const Tensor& input_tensor(const TensorNet& net, int number) {
    return net.tensors[static_cast<std::size_t>(number)];
}

/// Dimensions of an input that are height and width of images; none: it is no image.
std::vector<std::size_t> image_dimensions(const Tensor& input) {
    constexpr std::size_t rank = 4;
    constexpr std::int64_t most_channels = 16;
    if (input.shape.size() != rank || !is_floating(input.type)) return {};
    const auto channels = [&](std::size_t i) {
        return input.shape[i].symbol.empty() && input.shape[i].size >= 1 && input.shape[i].size <= most_channels;
    };
    if (!channels(1) && channels(3)) return {1, 2};
    return {2, 3};
}

void set_batch(const TensorNet& net, const Run& run, Sizes& sizes) {
    if (net.inputs.empty()) return;
    for (const int number : net.inputs) {
        const Tensor& input = input_tensor(net, number);
        if (input.shape.empty() || input.shape.front().symbol.empty()) continue;
        const std::string symbol = lower_case(input.shape.front().symbol);
        const bool of_text = symbol.find("seq") != std::string::npos || symbol.find("len") != std::string::npos;
        if (of_text) continue;
        const auto [known, added] = sizes.emplace(input.shape.front().symbol, run.batch);
        if (!added && number == net.inputs.front() && known->second != run.batch)
            throw Error({.what = "this dimension is the batch",
                         .key = "dimensions",
                         .found = fmt::format("{}={}", known->first, known->second),
                         .suggestion = fmt::format("set it with `batch` {}", known->second)});
    }
}

/// `value`, which `field` of the run sets, for `symbol`. Throws Error where its own size is another one.
void set_once(Sizes& sizes, const std::string& symbol, std::int64_t value, const char* field) {
    const auto [known, added] = sizes.emplace(symbol, value);
    if (added || known->second == value) return;
    throw Error({.what = "the size of this dimension is set twice",
                 .key = field,
                 .found = fmt::format("{}, and {}={}", value, symbol, known->second),
                 .suggestion = fmt::format("leave out `{}` or `dimensions`", field)});
}

void set_image_size(const TensorNet& net, const Run& run, Sizes& sizes) {
    if (run.image_size == 0) return;
    bool any = false;
    for (const int number : net.inputs) {
        const Tensor& input = input_tensor(net, number);
        for (const std::size_t i : image_dimensions(input)) {
            const Dimension& side = input.shape[i];
            any = true;
            if (!side.symbol.empty()) set_once(sizes, side.symbol, run.image_size, "image_size");
            if (side.symbol.empty() && side.size != run.image_size) {
                throw Error({.what = fmt::format("the images of the net have a fixed side of {}", side.size),
                             .key = "image_size",
                             .found = std::to_string(run.image_size),
                             .suggestion = "leave it out, or export the net with dynamic sizes"});
            }
        }
    }
    if (!any) throw Error({.what = "the net takes no images", .key = "image_size", .suggestion = "leave it out"});
}

/// Dimensions that are the number of tokens, each once: the second one of whole-number inputs, but for that of a cache.
std::vector<Dimension> token_dimensions(const TensorNet& net) {
    std::vector<Dimension> found;
    for (const int number : net.inputs) {
        const Tensor& input = input_tensor(net, number);
        const bool whole = input.type == ElementType::int64 || input.type == ElementType::int32;
        if (!whole || input.shape.size() != 2) continue;
        const std::string lower = lower_case(input.shape[1].symbol);
        const bool of_cache = lower.find("past") != std::string::npos || lower.find("total") != std::string::npos;
        if (!of_cache && std::find(found.begin(), found.end(), input.shape[1]) == found.end()) found.push_back(input.shape[1]);
    }
    return found;
}

void set_tokens(const TensorNet& net, const Run& run, Sizes& sizes) {
    if (run.prompt_tokens == 0) return;
    std::vector<std::string> symbols;
    bool fixed = false;
    for (const Dimension& dimension : token_dimensions(net)) {
        if (!dimension.symbol.empty()) symbols.push_back(dimension.symbol);
        fixed = fixed || (dimension.symbol.empty() && dimension.size == run.prompt_tokens);
    }
    if (symbols.size() > 1) std::erase_if(symbols, [&](const std::string& symbol) { return sizes.contains(symbol); });
    if (symbols.size() == 1) set_once(sizes, symbols.front(), run.prompt_tokens, "prompt_tokens");
    if (symbols.size() > 1) {
        throw Error({.what = "several dimensions of the net may be the number of tokens",
                     .key = "prompt_tokens",
                     .found = fmt::format("{}", fmt::join(symbols, ", ")),
                     .suggestion = "set each with `dimensions`"});
    }
    if (symbols.empty() && !fixed) {
        const std::vector<std::string> known = symbols_of(net);
        throw Error({.what = "no open dimension of the net is the number of tokens",
                     .key = "prompt_tokens",
                     .found = std::to_string(run.prompt_tokens),
                     .suggestion = known.empty() ? "leave it out: all sizes of the net are fixed"
                                                 : fmt::format("leave it out; `dimensions` sets {}", fmt::join(known, ", "))});
    }
}

/// Exporters write sums: "past_sequence_length + 1".
std::optional<std::int64_t> sum_of(const std::string& text, const Sizes& sizes) {
    std::int64_t total = 0;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t plus = std::min(text.find('+', start), text.size());
        std::string term = text.substr(start, plus - start);
        term.erase(0, term.find_first_not_of(' '));
        term.erase(term.find_last_not_of(' ') + 1);
        const bool number = !term.empty() && term.size() < 10 && term.find_first_not_of("0123456789") == std::string::npos;
        const auto known = sizes.find(term);
        if (!number && known == sizes.end()) return std::nullopt;
        total += number ? std::stoll(term) : known->second;
        start = plus + 1;
    }
    return total;
}

/// The field of a run that sets `symbol` too, before an "or"; "" for others.
std::string field_of(const TensorNet& net, const std::string& symbol) {
    std::vector<Dimension> tokens = token_dimensions(net);
    std::erase_if(tokens, [](const Dimension& dimension) { return dimension.symbol.empty(); });
    if (tokens.size() == 1 && tokens.front().symbol == symbol) return "`prompt_tokens` or ";
    for (const int number : net.inputs) {
        const Tensor& input = input_tensor(net, number);
        const std::vector<std::size_t> sides = image_dimensions(input);
        const bool of_image = std::any_of(sides.begin(), sides.end(), [&](std::size_t i) { return input.shape[i].symbol == symbol; });
        const bool all_open = std::all_of(sides.begin(), sides.end(), [&](std::size_t i) { return !input.shape[i].symbol.empty(); });
        if (of_image && all_open) return "`image_size` or ";
    }
    return {};
}

Sizes sizes_of(const TensorNet& net, const Run& run) {
    const std::vector<std::string> known = symbols_of(net);
    Sizes sizes;
    for (const auto& [symbol, size] : run.dimensions) {
        // A term of a sum is a symbol too.
        const bool there = std::any_of(known.begin(), known.end(), [&](const std::string& k) {
            return k == symbol || (k.find('+') != std::string::npos && k.find(symbol) != std::string::npos);
        });
        if (!there) {
            throw Error({.what = "the net has no such dimension",
                         .key = "dimensions",
                         .found = symbol,
                         .expected = known.empty() ? "none: all its sizes are fixed" : fmt::format("one of {}", fmt::join(known, ", ")),
                         .suggestion = did_you_mean(symbol, known)});
        }
        sizes[symbol] = size;
    }
    set_batch(net, run, sizes);
    set_image_size(net, run, sizes);
    set_tokens(net, run, sizes);
    return sizes;
}

}  // namespace

Symbols::Symbols(const TensorNet& net, const Run& run) : net_(net), sizes_(sizes_of(net, run)) {}

std::optional<std::int64_t> Symbols::size_of(const Dimension& dimension) const {
    return dimension.symbol.empty() ? std::optional(dimension.size) : sum_of(dimension.symbol, sizes_);
}

std::optional<TensorShape> Symbols::shape_of(const Tensor& tensor) const {
    if (!tensor.shaped) return std::nullopt;
    TensorShape shape;
    for (const Dimension& dimension : tensor.shape) {
        const auto size = size_of(dimension);
        if (!size) return std::nullopt;
        shape.push_back(*size);
    }
    return shape;
}

std::vector<TensorShape> Symbols::input_shapes() const {
    std::vector<TensorShape> shapes;
    for (const int number : net_.inputs) {
        const Tensor& input = input_tensor(net_, number);
        TensorShape shape;
        for (const Dimension& dimension : input.shape) {
            const auto size = size_of(dimension);
            if (!size) {
                throw Error({.what = fmt::format("the net leaves a dimension of input {} open", input.name),
                             .key = "dimensions",
                             .found = dimension.symbol,
                             .suggestion = fmt::format("give {}`dimensions` {}=N", field_of(net_, dimension.symbol), dimension.symbol)});
            }
            shape.push_back(*size);
        }
        shapes.push_back(std::move(shape));
    }
    return shapes;
}

}  // namespace roofcast
