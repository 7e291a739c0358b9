#include "validation/row_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "prediction/shapes.hpp"
#include "roofcast/software.hpp"
#include "validation/unusable.hpp"

namespace roofcast {

namespace {

double host_time(const std::vector<HostMachine>& machines, const ModelRow& row, const std::string& gpu) {
    const auto measured =
        std::find_if(machines.begin(), machines.end(), [&](const HostMachine& machine) { return stands_for(machine, row, gpu); });
    return measured != machines.end() ? measured->host_time : 1;
}

/// Whether the checkpoint itself is in `format`, so that the row means it as it is published.
bool is_published_in(const Workload& workload, const WeightFormat& format) {
    const auto& stored = workload.native_weights ? workload.native_weights : workload.native_experts;
    return (stored ? stored->precision : workload.default_precision) == format.precision;
}

void set_formats(Run& run, const ModelRow& row, const Workload& workload, const GpuProfile& gpu) {
    const bool published = !row.precision || (row.checkpoint && is_published_in(workload, *row.checkpoint));
    run.precision = published ? default_precision(workload, gpu) : *row.precision;
    run.weights = row.weights;
    run.kv_precision = row.kv_precision;
}

}  // namespace

bool stands_for(const HostMachine& machine, const ModelRow& row, const std::string& gpu) {
    return row.origin.source.starts_with(machine.source) &&
           (machine.software.empty() || begins_with_words(row.origin.software, machine.software)) &&
           std::find(machine.gpus.begin(), machine.gpus.end(), gpu) != machine.gpus.end();
}

namespace {

/// The source multiplies degrees of expert parallelism into others. Where both of its expert degrees are the whole group, tensor
/// parallelism or data-parallel attention is given as the square of that; where attention is copied on each GPU, tensor parallelism as the
/// group as well, and the expert degree as the square.
void divide_degrees(ModelRow& row) {
    std::int64_t &copies = row.attention_data_parallel, &tensor = row.parallel.tensor, &experts = row.parallel.expert;
    std::int64_t& group = copies > 1 ? copies : tensor;
    if (experts > 1 && row.expert_tensor_parallel == experts && group == experts * experts) {
        group = experts;
        row.expert_tensor_parallel = 1;
    } else if (copies > 1 && tensor == copies && experts == copies * copies) {
        tensor = 1;
        experts = copies;
    }
}

/// What the row says itself stays.
void set_load(ServedLoad& load, const RowMeaning& meaning) {
    load.shortest = meaning.shortest_lengths.value_or(load.shortest);
    SchedulerSettings& s = load.settings;
    const auto fill = [](auto& setting, const auto& meant) {
        if (!setting) setting = meant;
    };
    fill(s.max_sequences, meaning.scheduler.max_sequences);
    if (meaning.sequences_as_users && load.users > 0 && !s.max_sequences) s.max_sequences = load.users;
    fill(s.max_tokens, meaning.scheduler.max_tokens);
    fill(s.poll_steps, meaning.scheduler.poll_steps);
    fill(s.wait_steps, meaning.scheduler.wait_steps);
    fill(s.wait_fraction, meaning.scheduler.wait_fraction);
    fill(s.memory_fraction, meaning.scheduler.memory_fraction);
    fill(s.prefix_cached, meaning.scheduler.prefix_cached);
}

bool of_model(const RowMeaning& meaning, const ModelRow& row, const std::string& model) {
    if (!takes_any(meaning.models, model) || !takes_any(meaning.gpus, row.gpu)) return false;
    if (meaning.attention_copies && row.attention_data_parallel == 1) return false;
    if (meaning.most_tensor > 0 && row.parallel.tensor > meaning.most_tensor) return false;
    if (meaning.prompt_tokens > 0 && row.prompt_tokens != meaning.prompt_tokens) return false;
    if (meaning.output_tokens > 0 && row.output_tokens != meaning.output_tokens) return false;
    if (meaning.least_users > 0 && (!row.served || row.served->users < meaning.least_users)) return false;
    return !meaning.format || (row.checkpoint && row.checkpoint->precision == *meaning.format);
}

}  // namespace

ModelRow with_meanings(ModelRow row, const std::vector<RowMeaning>& meanings) {
    const std::string software = row.origin.software, model = row.model;
    for (const RowMeaning& meaning : meanings) {
        if (!row.origin.source.starts_with(meaning.source)) continue;
        if (!meaning.software.empty() && !begins_with_words(software, meaning.software)) continue;
        if (meaning.unversioned && software != meaning.software) continue;
        if (meaning.rates_of_whole_calls && row.phase == "decode" && row.metric == Metric::tokens_per_s) row.phase = "generate";
        if (!of_model(meaning, row, model)) continue;
        if (!meaning.means.empty()) row.origin.software = meaning.means;
        if (!meaning.checkpoint.empty()) row.model = meaning.checkpoint;
        if (!row.kv_precision) row.kv_precision = meaning.kv_precision;
        if (row.served) set_load(*row.served, meaning);
        if (row.served && meaning.step_prompts > 0 && row.prompt_tokens && !row.served->settings.max_tokens)
            row.served->settings.max_tokens =
                std::llround(meaning.step_prompts * static_cast<double>(*row.prompt_tokens)) + row.served->users;
        if (row.served && meaning.mtp > 0 && !row.served->speculation)
            row.served->speculation = Speculation{.draft = {}, .tokens = meaning.mtp, .acceptance = meaning.acceptance, .own_head = true};
        if (meaning.multiplied_degrees) divide_degrees(row);
        if (meaning.attention_once) {
            row.parallel.tensor *= row.attention_data_parallel;
            row.attention_data_parallel = 1;
        }
        if (meaning.memory_of_tensors) row.memory_of_tensors = true;
        if (meaning.channels_last) row.channels_last = meaning.channels_last;
    }
    return row;
}

Run request_of(const ModelRow& row, const Workload& workload, const SoftwareStacks& software, const std::vector<HostMachine>& machines,
               const GpuProfile& gpu) {
    Run run;
    run.host_time = host_time(machines, row, gpu.id);
    run.channels_last = row.channels_last;
    run.batch = row.batch;
    run.image_size = row.image_size.value_or(0);
    run.parallel = row.parallel;
    run.parallel.tensor *= row.attention_data_parallel;
    run.parallel.attention_data = row.attention_data_parallel;
    set_formats(run, row, workload, gpu);
    run.pcie = row.pcie;
    run.execution = row.execution;
    run.software = row.origin.software;
    if (row.served) run.techniques.speculation = row.served->speculation;
    if (language_model(workload) != nullptr) {
        const bool decodes = row.phase == "decode" || row.phase == "generate" || row.phase.empty() || row.served;
        // A decode row that starts from nothing has the first token in its cache; a rate needs a second one to be told from prefill.
        if (row.prompt_tokens) run.prompt_tokens = std::max<std::int64_t>(1, *row.prompt_tokens);
        const bool first_token_alone = !decodes || row.output_tokens == 0;
        if (decodes && first_token_alone && !row.phase.empty())
            throw unusable(fmt::format("phase '{}' generates no token: use phase prefill for prompts alone", row.phase));
        run.generate_tokens = first_token_alone ? 1 : row.output_tokens.value_or(0);
        if (row.phase == "decode" && run.generate_tokens == 1) run.generate_tokens = 2;
        if (!row.image_size) run.images = 0;
        const bool by_layers = software.find(run.execution, run.software, gpu.vendor).splits_layers;
        if (run.parallel.gpus() == 1) (by_layers ? run.parallel.pipeline : run.parallel.tensor) = row.gpus;
    } else {
        run.prompt_tokens = row.prompt_tokens.value_or(0);
        if (row.parallel.gpus() == 1) run.parallel.data = row.gpus;
    }
    return run;
}

Workload summary_workload(const ModelRow& row) {
    if (!row.gmacs || !row.mactivations || !row.mparams) {
        throw unusable(fmt::format("model '{}' is not shipped, and the row does not give gmacs, mactivations and mparams", row.model));
    }
    Workload workload;
    workload.id = row.model;
    workload.name = row.model;
    workload.family = "summary";
    Summary summary;
    summary.gmacs = *row.gmacs;
    summary.mactivations = *row.mactivations;
    summary.mparams = *row.mparams;
    summary.transformer = row.family == "vit" || row.family == "encoder";
    workload.architecture = summary;
    return workload;
}

}  // namespace roofcast
