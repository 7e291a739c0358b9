#include <map>

#include "cli/command_line.hpp"

namespace roofcast::cli {

std::string usual_option(const std::string& word) {
    static const std::map<std::string, std::string> others{{"--dtype", "--precision"},
                                                           {"--quantization", "--weights"},
                                                           {"--quant", "--weights"},
                                                           {"--kv-cache-dtype", "--kv"},
                                                           {"--kv-precision", "--kv"},
                                                           {"--batch-size", "--batch"},
                                                           {"--bs", "--batch"},
                                                           {"--input-len", "--prompt"},
                                                           {"--prompt-tokens", "--prompt"},
                                                           {"--isl", "--prompt"},
                                                           {"--output-len", "--generate"},
                                                           {"--max-tokens", "--generate"},
                                                           {"--max-new-tokens", "--generate"},
                                                           {"--osl", "--generate"},
                                                           {"--tensor-parallel-size", "--tp"},
                                                           {"--tensor-parallel", "--tp"},
                                                           {"--pipeline-parallel-size", "--pp"},
                                                           {"--data-parallel-size", "--dp"},
                                                           {"--enable-dp-attention", "--attention-dp"},
                                                           {"--num-gpus", "--gpus"},
                                                           {"--gpu-count", "--gpus"},
                                                           {"--engine", "--software"},
                                                           {"--backend", "--software"},
                                                           {"--request-rate", "--rate"},
                                                           {"--qps", "--rate"},
                                                           {"--max-concurrency", "--concurrency"},
                                                           {"--json", "--format json"},
                                                           {"--csv", "--format csv"}};
    const auto found = others.find(word.substr(0, word.find('=')));
    return found == others.end() ? std::string() : found->second;
}

}  // namespace roofcast::cli
