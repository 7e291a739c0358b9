// The C interface, roofcast.h.

#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "io/field_names.hpp"
#include "roofcast.h"
#include "roofcast/catalogue.hpp"
#include "roofcast/error.hpp"
#include "roofcast/step_times.hpp"
#include "roofcast/version.hpp"

struct roofcast_step_model {
    roofcast::StepTimes times;
};

namespace {

/// Of the calling thread, as errno is.
std::string& last_error() {
    thread_local std::string text;
    return text;
}

/// What `work` returns; `failed`, and the reason kept, where it throws: no exception leaves for C.
template <class Result, class Work>
Result guarded(Result failed, Work work) noexcept {
    try {
        try {
            return work();
        } catch (const roofcast::Error& e) {
            last_error() = roofcast::Error(with_field_names(e.detail(), roofcast::setting_name, roofcast::Backquotes::dropped)).what();
        } catch (const std::exception& e) {
            last_error() = e.what();
        }
    } catch (...) {
        // Out of memory for the reason.
    }
    return failed;
}

/// "tp=8" as name and value.
std::pair<std::string, std::string> setting(const std::string& text) {
    const auto equals = text.find('=');
    if (equals != std::string::npos && equals > 0 && equals + 1 < text.size()) return {text.substr(0, equals), text.substr(equals + 1)};
    throw roofcast::Error({.what = "a setting has no value", .found = text, .expected = "name=value, such as tp=8"});
}

}  // namespace

roofcast_step_model* roofcast_step_model_new(const char* model, const char* gpu, const char* const* settings) {
    return guarded(static_cast<roofcast_step_model*>(nullptr), [=]() mutable {
        if (model == nullptr || gpu == nullptr) throw roofcast::Error({.what = "a model and a GPU are needed, found NULL"});
        std::vector<std::pair<std::string, std::string>> chosen;
        for (; settings != nullptr && *settings != nullptr; ++settings) chosen.push_back(setting(*settings));
        const auto catalogue = roofcast::Catalogue::shipped();
        return new roofcast_step_model{roofcast::step_times(catalogue.model(model), catalogue.gpu(gpu), catalogue.software(), chosen)};
    });
}

void roofcast_step_model_free(roofcast_step_model* model) {
    delete model;
}

double roofcast_step_us(const roofcast_step_model* model, std::int64_t prefill_tokens, std::int64_t decode_sequences, double context) {
    return roofcast_mixed_step_us(model, prefill_tokens == 0 ? 0 : 1, prefill_tokens, 0, decode_sequences, context);
}

double roofcast_mixed_step_us(const roofcast_step_model* model, std::int64_t prefill_sequences, std::int64_t prefill_tokens,
                              double prefill_past, std::int64_t decode_sequences, double context) {
    return guarded(-1.0, [=] {
        const roofcast::StepMix mix{.decodes = decode_sequences,
                                    .context = context,
                                    .prompts = prefill_sequences,
                                    .prompt_tokens = prefill_tokens,
                                    .past = prefill_past};
        return model->times.time(mix).in(roofcast::us);
    });
}

int roofcast_step_model_prepare(const roofcast_step_model* model) {
    return guarded(-1, [=] {
        model->times.prepare();
        return 0;
    });
}

const char* roofcast_last_error() {
    return last_error().c_str();
}

const char* roofcast_version() {
    return roofcast::named_version().data() + sizeof "roofcast";  // behind the name and a space
}
