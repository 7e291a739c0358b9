#include <algorithm>
#include <array>
#include <cmath>

#include "scenario/step_parts.hpp"

namespace roofcast {

namespace {

// Points of an octave. Times of matrix products step with their tiles, so that rows need many; attention is smooth.
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
    double share = 0;
};

Place place(const LogAxis& a, double value) {
    if (value <= a.values.front()) return {};
    const std::size_t last = a.values.size() - 1;
    if (value >= a.values.back()) return {last, last, 0};
    const auto above = static_cast<std::size_t>(std::upper_bound(a.values.begin(), a.values.end(), value) - a.values.begin());
    const double low = a.logs[above - 1];
    return {above - 1, above, (std::log(value + a.offset) - low) / (a.logs[above] - low)};
}

double between(double low, double high, double share) {
    return low + share * (high - low);
}

double along(const std::vector<double>& values, std::size_t row, const Place& p) {
    return between(values[row + p.below], values[row + p.above], p.share);
}

double log_of(Seconds part) {
    return std::log(std::max(shortest, part.in(s)));
}

/// `time` of each whole number from 1 to `last`, evaluated at `rows_an_octave` and interpolated between them; entry 0 is zero.
template <class Time>
std::vector<Seconds> dense(std::int64_t last, Time time) {
    const auto points = spaced(last, rows_an_octave);
    std::vector<Seconds> times{Seconds{}};
    Seconds before;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const Seconds here = time(points[i]);
        const double start = std::log(i == 0 ? 1.0 : static_cast<double>(points[i - 1])), end = std::log(static_cast<double>(points[i]));
        while (static_cast<std::int64_t>(times.size()) < points[i]) {
            const double share = (std::log(static_cast<double>(times.size())) - start) / (end - start);
            times.push_back(std::exp(between(log_of(before), log_of(here), share)) * s);
        }
        times.push_back(here);
        before = here;
    }
    return times;
}

Seconds entry(const std::vector<Seconds>& times, std::int64_t i) {
    return times[std::min(static_cast<std::size_t>(i), times.size() - 1)];
}

/// The same software on a host that issues kernels in no time.
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

/// Adds the points of a part that share W of so many rows, one for each of `sizes`: `pass` is the time of a whole pass of that size under
/// a model.
template <class Pass>
void add_points(StepPart& part, const StepTable& table, const StepModel& m, std::int64_t rows, std::int64_t logits,
                const std::vector<std::int64_t>& sizes, Pass pass) {
    const StepModel busy = without_host(m);
    const Seconds shared_busy = shared_step(busy, rows, logits);
    const bool corrects = host_issues_kernels(m);
    const Seconds shared = corrects ? shared_step(m, rows, logits) : shared_busy;
    for (const std::int64_t size : sizes) {
        const Seconds work = pass(busy, size) - shared_busy;
        part.log_work.push_back(log_of(work));
        if (corrects) part.rest.push_back((pass(m, size) - shared - exposed(work, entry(table.waiting, rows), part.host)).in(s));
    }
}

void repeat_last(StepPart& part, std::size_t times) {
    for (std::vector<double>* values : {&part.log_work, &part.rest}) {
        if (!values->empty()) values->insert(values->end(), times, values->back());
    }
}

void tabulate_shared(StepTable& table, const StepModel& m, const StepRange& range) {
    const auto body = [&](const StepModel& of) { return dense(range.tokens, [&](std::int64_t rows) { return shared_step(of, rows, 1); }); };
    table.body = body(m);
    table.head = dense(range.sequences, [&](std::int64_t rows) { return shared_step(m, rows, rows) - shared_step(m, rows, 1); });
    if (!host_issues_kernels(m)) return;
    table.waiting = body(without_host(m));
    for (std::size_t rows = 0; rows < table.waiting.size(); ++rows)
        table.waiting[rows] = max(Seconds{}, table.body[rows] - table.waiting[rows]);
}

void tabulate_decodes(StepTable& table, const StepModel& m, const StepRange& range) {
    const auto decodes = spaced(range.sequences, decodes_an_octave), contexts = spaced(range.context, contexts_an_octave);
    table.decodes = axis(decodes, 0);
    table.context = axis(contexts, 0);
    const auto tabulate = [&](StepPart& part, bool beside_prompts) {
        if (host_issues_kernels(m)) part.host = decode_step(m, 1, 1, beside_prompts) - shared_step(m, 1, 1);
        for (const std::int64_t n : decodes) {
            add_points(part, table, m, n, n, contexts,
                       [=](const StepModel& of, std::int64_t c) { return decode_step(of, n, c, beside_prompts); });
        }
    };
    tabulate(table.decode, false);
    if (m.stack.joint_attention) tabulate(table.joint_decode.emplace(), true);
}

void tabulate_prompts(StepTable& table, const StepModel& m, const StepRange& range) {
    const auto prompts = spaced(std::min(range.sequences, range.prompt_tokens), prompts_an_octave),
               tokens = spaced(range.prompt_tokens, tokens_an_octave);
    std::vector<std::int64_t> past{0};
    for (const std::int64_t h : spaced(range.context, pasts_an_octave)) {
        if (static_cast<double>(h) >= past_offset) past.push_back(h);
    }
    table.prompts = axis(prompts, 0);
    table.tokens = axis(tokens, 0);
    table.past = axis(past, past_offset);
    if (host_issues_kernels(m)) table.prompt.host = prompt_step(m, 1, 1, 0) - shared_step(m, 1, 1);
    // A step's own cell reaches to the next point of two axes: twice and √2 times as much. Points beyond that are never read.
    const std::int64_t most = 3 * range.prompt_tokens;
    for (const std::int64_t n : prompts) {
        for (const std::int64_t q : tokens) {
            if (n * q > most) {
                repeat_last(table.prompt, past.size());
                continue;
            }
            add_points(table.prompt, table, m, n * q, n, past,
                       [n, q](const StepModel& of, std::int64_t h) { return prompt_step(of, n, q, h); });
        }
    }
}

void tabulate_images(StepTable& table, const StepModel& m, const StepRange& range) {
    if (!m.vision) return;
    const auto encoded = spaced(range.sequences, encoded_an_octave);
    table.encoded = axis(encoded, 0);
    for (const std::int64_t v : encoded) table.vision_part.push_back(log_of(vision_step(m, v)));
}

/// A part of a step whose W has so many rows; `interpolated` reads a grid of the part at the step's sizes.
template <class Interpolated>
Seconds part_time(const StepTable& t, const StepPart& part, std::int64_t rows, Interpolated interpolated) {
    const Seconds work = std::exp(interpolated(part.log_work)) * s;
    if (part.rest.empty()) return work;
    return exposed(work, entry(t.waiting, rows), part.host) + interpolated(part.rest) * s;
}

}  // namespace

StepTable tabulated(const StepModel& m, const StepRange& range) {
    StepTable table;
    tabulate_shared(table, m, range);
    tabulate_decodes(table, m, range);
    tabulate_prompts(table, m, range);
    tabulate_images(table, m, range);
    return table;
}

Seconds step_time(const StepTable& t, const StepMix& mix) {
    Seconds time = entry(t.body, mix.decodes + mix.prompt_tokens) + entry(t.head, mix.decodes + mix.prompts);
    if (mix.decodes > 0) {
        const Place n = place(t.decodes, static_cast<double>(mix.decodes)), c = place(t.context, mix.context);
        const std::size_t width = t.context.values.size();
        const auto rows = static_cast<std::int64_t>(std::min(static_cast<double>(mix.decodes), t.decodes.values.back()));
        const StepPart& part = mix.prompts > 0 && t.joint_decode ? *t.joint_decode : t.decode;
        time += part_time(t, part, rows, [&](const std::vector<double>& grid) {
            return between(along(grid, n.below * width, c), along(grid, n.above * width, c), n.share);
        });
    }
    if (mix.prompts > 0) {
        const double each = static_cast<double>(mix.prompt_tokens) / static_cast<double>(mix.prompts);
        const Place n = place(t.prompts, static_cast<double>(mix.prompts)), q = place(t.tokens, each), h = place(t.past, mix.past);
        const std::size_t width = t.past.values.size(), layer = t.tokens.values.size() * width;
        time += part_time(t, t.prompt, mix.prompt_tokens, [&](const std::vector<double>& grid) {
            const auto plane = [&](std::size_t prompts) {
                return between(along(grid, prompts * layer + q.below * width, h), along(grid, prompts * layer + q.above * width, h),
                               q.share);
            };
            return between(plane(n.below), plane(n.above), n.share);
        });
    }
    if (mix.encoded > 0 && !t.vision_part.empty())
        time += std::exp(along(t.vision_part, 0, place(t.encoded, static_cast<double>(mix.encoded)))) * s;
    return time;
}

}  // namespace roofcast
