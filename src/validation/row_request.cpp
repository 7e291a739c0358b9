#include "validation/row_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "prediction/shapes.hpp"
#include "validation/unusable.hpp"

namespace roofcast {

namespace {

double host_time(const std::vector<HostMachine>& machines, const ModelRow& row, const std::string& gpu) {
    const auto measured =
        std::find_if(machines.begin(), machines.end(), [&](const HostMachine& machine) { return stands_for(machine, row, gpu); });
    return measured != machines.end() ? measured->host_time : 1;
}

}  // namespace

bool stands_for(const HostMachine& machine, const ModelRow& row, const std::string& gpu) {
    return row.origin.source.starts_with(machine.source) &&
           (machine.software.empty() || begins_with_words(row.origin.software, machine.software)) &&
           std::find(machine.gpus.begin(), machine.gpus.end(), gpu) != machine.gpus.end();
}

ModelRow as_meant(ModelRow row, const std::vector<RowMeaning>& meanings) {
    const std::string software = row.origin.software;
    for (const RowMeaning& meaning : meanings) {
        if (!row.origin.source.starts_with(meaning.source)) continue;
        if (!meaning.software.empty() && !begins_with_words(software, meaning.software)) continue;
        if (!meaning.means.empty()) row.origin.software = meaning.means;
        if (meaning.rates_of_whole_calls && row.phase == "decode" && row.metric == Metric::tokens_per_s) row.phase = "generate";
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
    run.precision = row.precision;
    run.batch = row.batch;
    run.image_size = row.image_size.value_or(0);
    run.parallel = row.parallel;
    run.weights = row.weights;
    run.kv_precision = row.kv_precision;
    run.pcie = row.pcie;
    run.execution = row.execution;
    run.software = row.origin.software;
    if (language_model(workload) != nullptr) {
        const bool decodes = row.phase == "decode" || row.phase == "generate" || row.phase.empty() || row.served;
        // A decode row that starts from nothing has the first token in its cache; a rate needs a second one to be told from prefill.
        if (row.prompt_tokens) run.prompt_tokens = std::max<std::int64_t>(1, *row.prompt_tokens);
        const bool first_token_alone = !decodes || row.output_tokens == 0;
        if (decodes && first_token_alone && !row.phase.empty())
            throw unusable(fmt::format("phase '{}' without a token: prompts alone are phase prefill", row.phase));
        run.generate_tokens = first_token_alone ? 1 : row.output_tokens.value_or(0);
        if (row.phase == "decode" && run.generate_tokens == 1) run.generate_tokens = 2;
        if (!row.image_size) run.images = 0;
        const bool by_layers = software.find(run.execution, run.software, gpu.vendor).splits_layers;
        if (row.parallel.gpus() == 1) (by_layers ? run.parallel.pipeline : run.parallel.tensor) = row.gpus;
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
