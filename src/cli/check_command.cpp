#include "cli/check_command.hpp"

#include <fmt/format.h>

#include "io/number_text.hpp"
#include "io/shell_word.hpp"
#include "report/recommendation_tables.hpp"

namespace roofcast::cli {

std::string check_command(const NamedRecommendation& n, const std::string& model, const std::vector<std::string>& gpus) {
    const auto& best = n.answer.cheapest(n.request.confidence);
    if (!best || !is_simulated(n)) return {};
    const Deployment& d = *best;
    const Run& run = n.request.run;
    const std::string& gpu = gpus.size() == n.contestants.size() ? gpus[d.gpu] : n.contestants[d.gpu].gpu->profile.id;
    std::string text =
        fmt::format("roofcast serve-sim --gpu {} --model {} --precision {}", shell_word(gpu), shell_word(model), name(d.precision));
    const auto add = [&text](const char* option, std::int64_t value, std::int64_t usual) {
        if (value != usual) text += fmt::format(" {} {}", option, value);
    };
    if (name(d.weights) != name(d.precision) && !name(d.weights).empty()) text += " --weights " + std::string(name(d.weights));
    add("--tp", d.parallel.tensor, 1);
    add("--pp", d.parallel.pipeline, 1);
    add("--dp", d.parallel.data, 1);
    constexpr std::int64_t usual_prompt = 512, usual_output = 128;
    add("--prompt", run.prompt_tokens, usual_prompt);
    add("--generate", run.generate_tokens, usual_output);
    text += fmt::format(" --rate {}/s --requests {}", significant(n.request.rate->in(1 / s)), d.requests);
    add("--seed", static_cast<std::int64_t>(n.request.load.seed), 0);
    add("--max-seqs", d.batch, run.software.empty() ? SchedulerOptions{}.max_sequences : 0);  // engines have limits of their own
    if (run.cache_precision() != activation_precision(d.precision)) text += fmt::format(" --kv {}", name(run.cache_precision()));
    if (run.execution != Execution::cuda_graph) text += fmt::format(" --execution {}", name(run.execution));
    if (!run.software.empty()) text += " --software " + shell_word(run.software);
    if (run.pcie) text += fmt::format(" --pcie {}", name(*run.pcie));
    return text;
}

}  // namespace roofcast::cli
