#include <fmt/format.h>

#include "prediction/interval.hpp"
#include "prediction/memory.hpp"
#include "prediction/offload.hpp"
#include "prediction/own_head.hpp"
#include "prediction/pass.hpp"
#include "prediction/phases.hpp"
#include "prediction/shapes.hpp"
#include "prediction/sound.hpp"
#include "prediction/speculative.hpp"
#include "prediction/techniques.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

namespace {

/// Operators without a cost model, each kind once and with its count.
void add_withheld(Prediction& p, const std::vector<std::string_view>& unmodelled) {
    std::vector<std::pair<std::string_view, int>> counts;
    for (const auto op : unmodelled) {
        const auto known = std::find_if(counts.begin(), counts.end(), [op](const auto& c) { return c.first == op; });
        if (known == counts.end())
            counts.emplace_back(op, 1);
        else
            ++known->second;
    }
    for (const auto& [op, count] : counts) {
        const std::string text = count == 1 ? std::string(op) : fmt::format("{} ({} times)", op, count);
        if (std::find(p.withheld.begin(), p.withheld.end(), text) == p.withheld.end()) p.withheld.push_back(text);
    }
}

void add_phase(Prediction& p, Phase phase) {
    add_withheld(p, phase.timeline.unmodelled);
    p.latency += phase.latency;
    p.phases.push_back(std::move(phase));
}

/// Decode, plain or with a draft model, of all tokens after the first.
void add_decode(Prediction& p, const PhaseSetting& large, const PhaseSetting* draft, std::int64_t context) {
    const std::int64_t steps = p.request.generate_tokens - 1;  // prefill yields the first token
    if (steps == 0) return;
    const Seconds before = p.latency;
    if (draft == nullptr) {
        add_phase(p, decode_phase(large, context, steps));
        p.tpot = p.phases.back().latency / p.phases.back().passes;
        return;
    }
    SpeculativeDecode decode = speculative_decode(large, *draft, context, steps);
    p.speculation = decode.outcome;
    add_phase(p, std::move(decode.draft));
    add_phase(p, std::move(decode.verify));
    p.tpot = (p.latency - before) / static_cast<double>(steps);
}

void predict_language(Prediction& p, const Workload& workload, const DecoderLlm& llm, LaunchTable& launches) {
    const Run& run = p.request;
    const PhaseSetting large{&llm, p.request, launches};
    const VisionLanguage* vlm = vision_language(workload);
    if (vlm != nullptr && run.images > 0) add_phase(p, run_phase(vision_graph(*vlm, run, large.stack().lowering), large));
    const std::int64_t context = context_tokens(workload, run);
    add_phase(p, prefill_phase(large, context));
    if (p.request.techniques.speculation) {
        const Run request = draft_request(workload, p.request);
        const PhaseSetting draft{language_model(*p.request.techniques.speculation->draft), request, launches};
        Phase prefill = prefill_phase(draft, context);
        prefill.name = "draft_prefill";
        const auto modules = static_cast<double>(drafting_modules(workload, *p.request.techniques.speculation));
        if (prefill.launched) *prefill.launched *= modules;
        prefill.passes *= modules;
        prefill.latency *= modules;
        add_phase(p, std::move(prefill));
        p.ttft = p.latency;
        add_decode(p, large, &draft, context);
    } else {
        p.ttft = p.latency;
        add_decode(p, large, nullptr, context);
    }
    p.tokens_per_second = run.items() * static_cast<double>(run.generate_tokens) / p.latency.in(s);
}

/// Prompts, and where guidance needs them as many empty ones; an image to start from; the steps; the image that they end in.
void predict_diffusion(Prediction& p, const Diffusion& model, const PhaseSetting& setting) {
    const Run& run = p.request;
    const Lowering& lowering = setting.stack().lowering;
    const auto passes = [&](OpGraph graph, std::int64_t count) {
        Phase phase = run_phase(std::move(graph), setting);
        phase.passes = static_cast<double>(count);
        phase.latency *= phase.passes;
        add_phase(p, std::move(phase));
    };
    if (!model.texts.empty()) passes(text_graph(model, run, lowering), model.guidance ? 2 : 1);
    if (model.from_image) passes(latent_encoder_graph(model, run, lowering), 1);
    passes(denoising_graph(model, run, lowering), run.steps);
    p.step = p.phases.back().timeline.total;
    passes(latent_decoder_graph(model, run, lowering), 1);
}

/// Memory of the run that `p` predicts with `stack`. `as_any_vendor`: so it is estimated where the GPU's vendor and the context's length
/// are not known.
MemoryEstimate memory_of(const Prediction& p, const Workload& workload, const SoftwareStacks& software, const SoftwareStack& stack,
                         bool as_any_vendor) {
    const DecoderLlm* llm = language_model(workload);
    bool timed = as_any_vendor && vision_language(workload) == nullptr && !std::holds_alternative<Diffusion>(workload.architecture);
    if (llm != nullptr && timed) {
        const std::int64_t context = context_tokens(workload, p.request);
        timed = cached_tokens(p.request) == 0 && pass_tokens(p.request, stack, *llm, context) == context;
    }
    // A first pass over everything is what weights and activations are counted in.
    return timed ? memory_of(std::span(&p.phases.front().graph, 1), workload, p.request, software, stack)
                 : memory_estimate(workload, p.request, software);
}

}  // namespace

Prediction predict(const Workload& workload, const Gpu& device, const Run& request, const SoftwareStacks& software) {
    Prediction p;
    p.request = completed(request, workload, device);
    require_host_link(p.request, device.profile);
    const std::int64_t tokens = context_tokens(workload, p.request) + p.request.generate_tokens;
    const std::string& vendor = device.profile.vendor;
    SoftwareStack stack = stack_of(software, p.request, workload, vendor);
    const bool as_any_vendor = &engine_of(software, p.request, workload, vendor) == &engine_of(software, p.request, workload, {}) &&
                               (!stack.long_contexts || tokens <= stack.long_contexts->beyond);
    stack = for_context(std::move(stack), tokens);
    const Gpu gpu = gpu_of(device, p.request, stack);
    p.caller = gpu.caller;
    LaunchTable launches(gpu, stack);
    if (const DecoderLlm* llm = language_model(workload)) {
        predict_language(p, workload, *llm, launches);
    } else if (const auto* diffusion = std::get_if<Diffusion>(&workload.architecture)) {
        predict_diffusion(p, *diffusion, {nullptr, p.request, launches});
    } else {
        add_phase(p, run_phase(forward_graph(workload, p.request, stack.lowering), {nullptr, p.request, launches}));
    }
    for (const Phase& phase : p.phases) {
        const Seconds cold = cold_start(phase.timeline, stack);
        p.cold_extra += cold - (p.cold_extra > Seconds{} ? stack.cold_context : Seconds{});
    }
    p.items_per_second = p.request.items() / p.latency.in(s);
    if (gpus_over_pcie(p.request.parallel, gpu.profile) > 1) p.pcie = gpu.profile.pcie;
    p.memory = memory_of(p, workload, software, stack, as_any_vendor);
    p.memory.usable = gpu.profile.usable_memory();
    require_sound(p);
    p.intervals = prediction_intervals(p, workload, device, gpu.profile);
    p.notes = technique_notes(p, workload);
    for (std::string& note : checkpoint_notes(workload, p.request)) p.notes.push_back(std::move(note));
    if (stack.half_padded && std::holds_alternative<Encoder>(workload.architecture))
        p.notes.push_back(removes_padding(stack, p.request)
                              ? "the engine was measured with padding removed, which costs CPU time"
                              : "the engine was measured on half-padded sequences; the prediction assumes the same");
    if (p.request.host_time != 1)
        p.notes.push_back(
            fmt::format("launch overhead is {:.4g} times that of the machines on which the engines were measured", p.request.host_time));
    if (std::string note = pcie_note(p.request, device.profile); !note.empty()) p.notes.push_back(std::move(note));
    if (is_traced(software, p.request, workload, vendor))
        p.notes.push_back("the model's own script uses TorchScript; times are those of TorchScript");
    if (p.request.execution == Execution::tensorrt && !vendor.empty() && vendor != "NVIDIA")
        p.notes.push_back(
            fmt::format("TensorRT runs on NVIDIA GPUs only, and this GPU is from {}; times are those of a similar engine", vendor));
    return p;
}

}  // namespace roofcast
