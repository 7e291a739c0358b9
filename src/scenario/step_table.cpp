#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "scenario/step_parts.hpp"

namespace roofcast {

namespace {

// Points of an octave. Times of GEMMs step with their tiles, so that rows need many; attention is smooth.
constexpr int rows_an_octave = 512, decodes_an_octave = 16, contexts_an_octave = 4, prompts_an_octave = 2, tokens_an_octave = 6,
              pasts_an_octave = 3, encoded_an_octave = 4;
constexpr double past_offset = 16;  ///< tokens: a cache shorter than that is as good as none
constexpr double shortest = 1e-12;  ///< seconds: stands for a part that takes none, since zero has no logarithm

/// Whole numbers from 1 to `last`, `per_octave` to a doubling (fewer where these are not whole).
std::vector<std::int64_t> spaced(std::int64_t last, int per_octave) {
    std::vector<std::int64_t> values;
    for (int i = 0;; ++i) {
        const auto value = static_cast<std::int64_t>(std::llround(std::exp2(static_cast<double>(i) / per_octave)));
        if (value >= last) break;
        if (values.empty() || value > values.back()) values.push_back(value);
    }
    values.push_back(last);
    return values;
}

LogAxis axis(const std::vector<std::int64_t>& values, double offset) {
    LogAxis a;
    a.offset = offset;
    for (const std::int64_t value : values) {
        a.values.push_back(static_cast<double>(value));
        a.logs.push_back(std::log(static_cast<double>(value) + offset));
    }
    return a;
}

/// Between which two points a value lies, and how far from the first to the second, 0 to 1.
struct Place {
    std::size_t below = 0, above = 0;
    double fraction = 0;
};

Place place(const LogAxis& a, double value) {
    if (value <= a.values.front()) return {};
    const std::size_t last = a.values.size() - 1;
    if (value >= a.values.back()) return {last, last, 0};
    const auto above = static_cast<std::size_t>(std::upper_bound(a.values.begin(), a.values.end(), value) - a.values.begin());
    const double low = a.logs[above - 1];
    return {above - 1, above, (std::log(value + a.offset) - low) / (a.logs[above] - low)};
}

double between(double low, double high, double fraction) {
    return low + fraction * (high - low);
}

/// `value` of both points of `p`; of the second only where it counts, as it may have to be computed.
template <class Value>
double among(const Place& p, Value value) {
    const double low = value(p.below);
    return p.fraction == 0 ? low : between(low, value(p.above), p.fraction);
}

double along(const OnDemand<double>& values, std::size_t row, const Place& p) {
    return among(p, [&](std::size_t i) { return values[row + i]; });
}

double log_of(Seconds part) {
    return std::log(std::max(shortest, part.in(s)));
}

/// `time` of each whole number from 1 to `last`, evaluated at `rows_an_octave` and interpolated between them, unless all are to be `exact`;
/// entry 0 is zero.
OnDemand<Seconds> dense(std::int64_t last, bool exact, const std::function<Seconds(std::int64_t)>& time) {
    if (exact)
        return {static_cast<std::size_t>(last) + 1,
                [=](std::size_t rows) { return rows == 0 ? Seconds{} : time(static_cast<std::int64_t>(rows)); }};
    const auto points = spaced(last, rows_an_octave);
    const OnDemand<Seconds> at_points(points.size(), [=](std::size_t i) { return time(points[i]); });
    return {static_cast<std::size_t>(last) + 1, [=](std::size_t rows) {
                if (rows == 0) return Seconds{};
                const auto next = std::lower_bound(points.begin(), points.end(), static_cast<std::int64_t>(rows));
                const auto above = static_cast<std::size_t>(next - points.begin());
                if (*next == static_cast<std::int64_t>(rows)) return at_points[above];
                const double start = std::log(static_cast<double>(points[above - 1])), end = std::log(static_cast<double>(*next));
                const double fraction = (std::log(static_cast<double>(rows)) - start) / (end - start);
                return std::exp(between(log_of(at_points[above - 1]), log_of(at_points[above]), fraction)) * s;
            }};
}

Seconds entry(const OnDemand<Seconds>& times, std::int64_t i) {
    return times[std::min(static_cast<std::size_t>(i), times.size() - 1)];
}

/// The same software without launch overhead.
StepModel without_host(StepModel m) {
    m.stack.host_per_kernel = m.stack.host_per_convolution = Seconds{};
    return m;
}

bool host_issues_kernels(const StepModel& m) {
    return m.stack.host_per_kernel > Seconds{} || m.stack.host_per_convolution > Seconds{};
}

/// What is left of the GPU's work in a part when it has `waiting` to do it in.
Seconds exposed(Seconds work, Seconds waiting, Seconds host) {
    return max(work - waiting, host);
}

/// The model, the same without launch overhead, and what both have in common: W by rows and logits.
struct Tabulation {
    StepModel model, busy;
    bool corrects = false;  ///< the CPU issues kernels, so that both differ
};

/// One cell of a grid: rows and logits of its W, and the time of its whole pass under a model.
struct PartPoint {
    std::int64_t rows = 1, logits = 1;
    std::function<Seconds(const StepModel&)> pass;
};

/// Points of a part, by `point` of each index.
StepPart part_of(const std::shared_ptr<const Tabulation>& t, const OnDemand<Seconds>& waiting, std::size_t size, Seconds host,
                 const std::function<PartPoint(std::size_t)>& point) {
    const auto work = [t, point](std::size_t i) {
        const PartPoint p = point(i);
        return p.pass(t->busy) - shared_step(t->busy, p.rows, p.logits);
    };
    StepPart part{.log_work = {size, [work](std::size_t i) { return log_of(work(i)); }}, .rest = {}, .host = host};
    if (!t->corrects) return part;
    part.rest = {size, [t, point, work, waiting, host](std::size_t i) {
                     const PartPoint p = point(i);
                     const Seconds exact = p.pass(t->model) - shared_step(t->model, p.rows, p.logits);
                     return (exact - exposed(work(i), entry(waiting, p.rows), host)).in(s);
                 }};
    return part;
}

void tabulate_shared(StepTable& table, const std::shared_ptr<const Tabulation>& t, const StepRange& range) {
    const std::int64_t proposed = t->model.verified() - 1, most_rows = range.tokens + proposed * range.sequences;
    const auto body = dense(most_rows, range.exact_rows, [t](std::int64_t rows) { return shared_step(t->model, rows, 1); });
    table.body = body;
    table.head = dense(t->model.verified() * range.sequences, range.exact_rows,
                       [t](std::int64_t rows) { return shared_step(t->model, rows, rows) - shared_step(t->model, rows, 1); });
    if (!t->corrects) return;
    const auto busy = dense(most_rows, range.exact_rows, [t](std::int64_t rows) { return shared_step(t->busy, rows, 1); });
    table.waiting = {body.size(), [body, busy](std::size_t rows) { return max(Seconds{}, body[rows] - busy[rows]); }};
}

void tabulate_decodes(StepTable& table, const std::shared_ptr<const Tabulation>& t, const StepRange& range) {
    const auto decodes = spaced(range.sequences, decodes_an_octave), contexts = spaced(range.context, contexts_an_octave);
    table.decodes = axis(decodes, 0);
    table.context = axis(contexts, 0);
    const std::int64_t rows = t->model.verified();
    const auto part = [&](bool in_prefill_kernel) {
        const Seconds host = t->corrects ? decode_step(t->model, 1, 1, in_prefill_kernel) - shared_step(t->model, rows, rows) : Seconds{};
        return part_of(t, table.waiting, decodes.size() * contexts.size(), host, [=](std::size_t i) {
            const std::int64_t n = decodes[i / contexts.size()], c = contexts[i % contexts.size()];
            return PartPoint{rows * n, rows * n, [=](const StepModel& of) { return decode_step(of, n, c, in_prefill_kernel); }};
        });
    };
    table.decode = part(false);
    if (t->model.stack.joint_attention) table.joint_decode = part(true);
}

void tabulate_prompts(StepTable& table, const std::shared_ptr<const Tabulation>& t, const StepRange& range) {
    const auto prompts = spaced(std::min(range.sequences, range.prompt_tokens), prompts_an_octave),
               tokens = spaced(range.prompt_tokens, tokens_an_octave);
    std::vector<std::int64_t> past{0};
    for (const std::int64_t h : spaced(range.context, pasts_an_octave)) {
        if (static_cast<double>(h) >= past_offset) past.push_back(h);
    }
    table.prompts = axis(prompts, 0);
    table.tokens = axis(tokens, 0);
    table.past = axis(past, past_offset);
    const Seconds host = t->corrects ? prompt_step(t->model, 1, 1, 0) - shared_step(t->model, 1, 1) : Seconds{};
    const std::size_t width = past.size(), layer = tokens.size() * width;
    table.prompt = part_of(t, table.waiting, prompts.size() * layer, host, [=](std::size_t i) {
        const std::int64_t n = prompts[i / layer], q = tokens[i % layer / width], h = past[i % width];
        return PartPoint{n * q, n, [=](const StepModel& of) { return prompt_step(of, n, q, h); }};
    });
}

void tabulate_images(StepTable& table, const std::shared_ptr<const Tabulation>& t, const StepRange& range) {
    if (!t->model.vision) return;
    const auto encoded = spaced(range.sequences, encoded_an_octave);
    table.encoded = axis(encoded, 0);
    table.vision_part = {encoded.size(), [t, encoded](std::size_t i) { return log_of(vision_step(t->model, encoded[i])); }};
}

/// A part of a step whose W has this many rows; `interpolated` reads a grid of the part at the step's sizes.
template <class Interpolated>
Seconds part_time(const StepTable& t, const StepPart& part, std::int64_t rows, Interpolated interpolated) {
    const Seconds work = std::exp(interpolated(part.log_work)) * s;
    if (part.rest.empty()) return work;
    return exposed(work, entry(t.waiting, rows), part.host) + interpolated(part.rest) * s;
}

}  // namespace

StepTable tabulated(const StepModel& m, const StepRange& range) {
    const auto t = std::make_shared<const Tabulation>(Tabulation{m, without_host(m), host_issues_kernels(m)});
    StepTable table;
    table.prompt_floor = m.prompt_floor;
    table.verified = m.verified();
    tabulate_shared(table, t, range);
    tabulate_decodes(table, t, range);
    tabulate_prompts(table, t, range);
    tabulate_images(table, t, range);
    return table;
}

Seconds step_time(const StepTable& t, const StepMix& mix) {
    const std::int64_t verified = t.verified * mix.decodes;
    Seconds time = entry(t.body, verified + mix.prompt_tokens) + entry(t.head, verified + mix.prompts);
    if (mix.decodes > 0) {
        const Place n = place(t.decodes, static_cast<double>(mix.decodes)), c = place(t.context, mix.context);
        const std::size_t width = t.context.values.size();
        const auto rows = t.verified * static_cast<std::int64_t>(std::min(static_cast<double>(mix.decodes), t.decodes.values.back()));
        const StepPart& part = mix.prompts > 0 && t.joint_decode ? *t.joint_decode : t.decode;
        time += part_time(t, part, rows, [&](const OnDemand<double>& grid) {
            return among(n, [&](std::size_t decodes) { return along(grid, decodes * width, c); });
        });
    }
    if (mix.prompts > 0) {
        const double each = static_cast<double>(mix.prompt_tokens) / static_cast<double>(mix.prompts);
        const Place n = place(t.prompts, static_cast<double>(mix.prompts)), q = place(t.tokens, each), h = place(t.past, mix.past);
        const std::size_t width = t.past.values.size(), layer = t.tokens.values.size() * width;
        time += part_time(t, t.prompt, mix.prompt_tokens, [&](const OnDemand<double>& grid) {
            return among(n, [&](std::size_t prompts) {
                return among(q, [&](std::size_t tokens) { return along(grid, prompts * layer + tokens * width, h); });
            });
        });
    }
    if (mix.prompts > 0) time = max(time, t.prompt_floor);
    if (mix.encoded > 0 && !t.vision_part.empty())
        time += std::exp(along(t.vision_part, 0, place(t.encoded, static_cast<double>(mix.encoded)))) * s;
    return time;
}

}  // namespace roofcast
