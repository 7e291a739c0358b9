#include <fmt/format.h>

#include "io/number_text.hpp"
#include "prediction/longest_phase.hpp"
#include "report/prediction_report.hpp"
#include "report/run_parts.hpp"

namespace roofcast {

namespace {

/// " (1.41 s to 1.7 s)"; empty where no interval is known.
std::string interval_text(const std::optional<IntervalRatio>& factor, Seconds t) {
    if (!factor) return {};
    return fmt::format(" ({} to {})", readable_time(factor->low * t.in(s)), readable_time(factor->high * t.in(s)));
}
std::string interval_text(const std::optional<IntervalRatio>& factor, double rate) {
    if (!factor) return {};
    return fmt::format(" ({} to {})", significant(rate / factor->high, 3), significant(rate / factor->low, 3));
}

}  // namespace

std::string headline(const NamedPrediction& n) {
    const Run& run = n.prediction.request;
    std::string text = fmt::format("{} on {}: {}", n.model_name, n.gpu_name, name(run.precision));
    if (const std::string label = run.weight_format().label; !label.empty()) text += fmt::format(" with {} weights", label);
    if (run.expert_weights) text += fmt::format(" with {} experts", name(*run.expert_weights));
    text += fmt::format(", batch {}{}", run.batch, tokens_text(n.prediction));
    if (run.image_size > 0) text += fmt::format(", {} pixels", run.image_size);
    text += parallel_text(run.parallel);
    if (n.prediction.ttft && element_size(run.cache_precision()) < element_size(activation_precision(run.precision)))
        text += fmt::format(", KV cache in {}", name(run.cache_precision()));
    text += fmt::format(", {}", name(run.execution));
    if (!run.software.empty()) text += fmt::format(" under {}", run.software);
    if (run.channels_last) text += *run.channels_last ? ", channels last" : ", channels first";
    if (run.streams > 1) text += fmt::format(", {} streams", *run.streams);
    return text;
}

std::vector<std::pair<std::string, std::string>> result_facts(const NamedPrediction& n) {
    const Prediction& p = n.prediction;
    if (!p.runs()) return {};
    const PredictionIntervals known = p.intervals.value_or(PredictionIntervals{});
    const auto latency = latency_interval(p);
    std::vector<std::pair<std::string, std::string>> facts;
    const auto add = [&facts](const char* name, std::string value) { facts.emplace_back(name, std::move(value)); };
    const auto add_time = [&](const char* name, const std::optional<Seconds>& t, const std::optional<IntervalRatio>& interval) {
        if (t) add(name, readable_time(t->in(s)) + interval_text(interval, *t));
    };
    add_time("latency", p.latency, latency);
    add_time("TTFT", p.ttft, known.ttft);
    add_time("TPOT", p.tpot, known.tpot);
    if (p.step)
        add("step",
            fmt::format("{}, {} steps/s of {} in an image", readable_time(p.step->in(s)), significant(1 / p.step->in(s)), p.request.steps));
    const double rate = p.tokens_per_second.value_or(p.items_per_second);
    add("throughput",
        fmt::format("{} {}{}", significant(rate), p.tokens_per_second ? "output tokens/s" : "items/s", interval_text(latency, rate)));
    if (p.intervals) add("interval", fmt::format("{} % of measurements, from {}", interval_percent, known.basis));
    add("first run", fmt::format("about {} more (assumed, not in the latency)", readable_time(p.cold_extra.in(s))));
    add("bound by", longest_phase(p).bound);
    return facts;
}

std::vector<std::string> obstacle_lines(const NamedPrediction& n) {
    const Prediction& p = n.prediction;
    std::vector<std::string> lines;
    if (!p.withheld.empty()) lines.push_back(fmt::format("No total: no kernel model covers {}.", fmt::join(p.withheld, ", ")));
    if (p.memory.fits() != false) return lines;
    lines.push_back(
        fmt::format("It does not fit: {}, {:.1f} GB too much.", needs_text(p.memory), (p.memory.total() - *p.memory.usable).in(gb)));
    lines.push_back(remedies_line(n.advice.remedies));
    return lines;
}

}  // namespace roofcast
