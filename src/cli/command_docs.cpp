#include "cli/command_docs.hpp"

#include <algorithm>
#include <iterator>

namespace roofcast::cli {

namespace {

constexpr std::string_view predict_and_size = tasks[0], serve_and_buy = tasks[1], measure = tasks[2], look_up = tasks[3];

constexpr CommandDoc documented[] = {
    {"predict",
     predict_and_size,
     "Predict latency, throughput and memory of a model on a GPU",
     "Prints the time of each phase, what bounds it, its 80% interval, memory and energy. Several GPUs or models give a table. The exit "
     "code is 1 when no run fits.",
     {{{"roofcast predict -g h100 -m llama-3.1-8b -p fp8 -b 16", "one prediction"},
       {"roofcast predict -g l4 a10 t4 -m resnet50 -b 32 --explain", "three GPUs, with the costliest operators"}}}},
    {"memory",
     predict_and_size,
     "Estimate the memory of a model, and whether a GPU holds it",
     "Lists weights, KV cache, activations and framework memory for each storage format. With --software and --gpu it divides the GPU's "
     "memory as that engine does, and prints the KV cache in tokens and sequences. The exit code is 1 when nothing fits.",
     {{{"roofcast memory -m llama-3.1-70b -g h100 --tp 4", "each storage format on four GPUs"},
       {"roofcast memory -m qwen3-32b -g h100 --software vllm --context 32768", "the KV cache that vLLM gets"}}}},
    {"sweep",
     predict_and_size,
     "Predict a grid of settings, one row for each combination",
     "Every option takes a list (1,8,32). Options of whole numbers also take ranges: 1:4 (step 1), 1:9:2 (step 2) and 1:64:*2 (doubling); "
     "both ends belong to the range. A combination that cannot run gets a row with the reason. CSV is written row by row, so that grids "
     "of millions of points need little memory.",
     {{{"roofcast sweep -g h100,a100 -m llama-3.1-8b -b '1:64:*2'", "batch 1 to 64 on two GPUs"},
       {"roofcast sweep -g h100 -m llama-3.1-70b --tp 2,4,8 --format csv", "three degrees of parallelism as CSV"}}}},
    {"pipeline",
     predict_and_size,
     "Predict several models that answer a request together",
     "Reads a TOML file of stages. Prints latency, throughput and the bottleneck. docs/reference/models.md describes the file.",
     {{{"roofcast pipeline docs/examples/retrieval.toml", "one pipeline"},
       {"roofcast pipeline docs/examples/retrieval-batched.toml \\\n      --against docs/examples/retrieval.toml", "two pipelines"}}}},
    {"serve-sim",
     serve_and_buy,
     "Simulate a serving engine under load",
     "Sends requests through a continuous-batching scheduler. Prints TTFT, TPOT, latency and queueing. Requests come from a Poisson "
     "process (--rate), a fixed number of users (--concurrency) or a trace (--trace). --find-rate searches for the highest rate that "
     "meets --slo.",
     {{{"roofcast serve-sim -g h100 -m llama-3.1-8b --rate 5/s --requests 200", "latencies at five requests per second"},
       {"roofcast serve-sim -g h100 -m llama-3.1-8b --find-rate --requests 200 \\\n      --slo ttft=500ms,tpot=30ms",
        "the highest rate within the limits"}}}},
    {"recommend",
     serve_and_buy,
     "Find the cheapest GPUs that serve a model within latency limits",
     "Searches GPUs, number formats, degrees of parallelism and batches. Ranks the deployments that meet --slo by price, and says why the "
     "other GPUs were rejected. The exit code is 1 when no deployment meets the limits.",
     {{{"roofcast recommend -m llama-3.1-8b --slo ttft=500ms,tpot=30ms --rate 5/s", "the cheapest deployment of each GPU"},
       {"roofcast recommend -m llama-3.1-70b --slo tpot=50ms -g h100 --max-gpus 8", "the ways to serve on H100s"}}}},
    {"compare",
     serve_and_buy,
     "Compare GPUs on one model",
     "Compares at equal settings (baseline), at the best settings of each GPU (optimized) and by cost. The first GPU is 1x.",
     {{{"roofcast compare -g a100 h100 l40s -m llama-3.1-8b", "all three comparisons"},
       {"roofcast compare -g t4 l4 -m resnet50 --policy optimized --objective cost", "the cheapest settings of each"}}}},
    {"cost",
     serve_and_buy,
     "Estimate the cost and energy of an item or token",
     "Prints US dollars and joules for rented and owned GPUs. Prices are those of the GPU profiles, unless options give others.",
     {{{"roofcast cost -g h100 a100 -m llama-3.1-8b -b 32", "rent and ownership of two GPUs"},
       {"roofcast cost -g l4 -m resnet50 -b 64 --usd-per-hour 0.8", "at a rent of your own"}}}},
    {"validate",
     measure,
     "Compare predictions with measurements",
     "Prints the error of predictions and of the datasheet roofline by group. Without --data it reads the shipped measurements. "
     "docs/reference/measurements.md describes the files.",
     {{{"roofcast validate -g v100-pcie-32gb --op gemm", "GEMMs on the V100"},
       {"roofcast validate -g a100-pcie-80gb --by op,precision --worst 5", "by operator, with the five largest errors"}}}},
    {"accuracy",
     measure,
     "Show the error to expect of predictions for a GPU",
     "Lists the error by kind of work, and the measurements that it comes from. Measured GPUs show rows that no fit saw. For other GPUs "
     "the "
     "errors are those of GPUs that were left out of a fit. TTFT and TPOT of served loads are listed by engine.",
     {{{"roofcast accuracy -g rtx-4090", "all kinds of work"},
       {"roofcast accuracy -g h100 -m llama-3.1-8b --software vllm", "one model under one engine"}}}},
    {"calibrate",
     measure,
     "Fit the model's parameters to measurements",
     "Fits a GPU, an architecture or a kernel family, and prints the error to expect on rows that the fit has not seen. Nothing is "
     "written without --write. With --data, your rows refine the fit in force.",
     {{{"roofcast calibrate -g p4 --folds 0", "a fit to the shipped rows, without cross-validation"},
       {"roofcast calibrate --summary --by-kind", "the accuracy of all fits by kind of work"}}}},
    {"bench",
     measure,
     "Summarize and compare measured timings",
     "Reads timings of roofcast-microbench, google-benchmark, nvbench, llama-bench and trtexec.",
     {{{"roofcast bench summarize validation_data/kernels/t4_fp32_pytorch.csv", "statistics of each series"},
       {"roofcast bench compare validation_data/kernels/deepbench_v100_t4.csv --by gpu", "V100 against T4"}}}},
    {"bench summarize",
     "",
     "Print mean, deviation, extremes and percentiles of every series",
     "A series is all timings of one operator and shape on one device.",
     {{{"roofcast bench summarize validation_data/kernels/t4_fp32_pytorch.csv", "statistics of each series"},
       {"roofcast bench summarize validation_data/kernels/t4_fp32_pytorch.csv \\\n      --format json", "the same as JSON"}}}},
    {"bench compare",
     "",
     "Print the relative performance of two or more contestants",
     "Contestants are told apart by --by. The first is 1.00x.",
     {{{"roofcast bench compare validation_data/kernels/deepbench_v100_t4.csv --by gpu", "V100 against T4"},
       {"roofcast bench compare validation_data/kernels/h[12]00-*_pytorch.csv --by gpu", "H100 against H200"}}}},
    {"gpu",
     look_up,
     "List, show, check and create GPU profiles",
     "A GPU is an id or alias from `roofcast gpu list`, or your own TOML file.",
     {{{"roofcast gpu list --search h100", "all kinds of H100"}, {"roofcast gpu show h100", "everything about one GPU"}}}},
    {"gpu list",
     "",
     "List the shipped GPUs with their main figures",
     "Filters combine: a GPU must pass all of them. The exit code is 1 when none does.",
     {{{"roofcast gpu list --vendor amd", "the GPUs of one vendor"},
       {"roofcast gpu list --architecture hopper --measured", "Hopper GPUs with a fit of their own"}}}},
    {"gpu show",
     "",
     "Show everything about one GPU",
     "Prints facts, peaks by precision, prices, fitted parameters with their sources, and assumed values.",
     {{{"roofcast gpu show h100", "a shipped GPU"}, {"roofcast gpu show gpus/l4.toml --format json", "a profile file as JSON"}}}},
    {"gpu check",
     "",
     "Check GPU profiles and the files beside them",
     "Compares each profile with what follows from its SMs, clocks and architecture. The exit code is 1 for a finding that the profile's "
     "[explained] table does not explain. Also reads fit files, gpus/arch/*.toml, software/execution.toml and price lists.",
     {{{"roofcast gpu check", "all shipped profiles"}, {"roofcast gpu check gpus/l4.toml gpus/prices.csv", "two files"}}}},
    {"gpu new",
     "",
     "Write a commented profile to fill in for a GPU that is not shipped",
     "Five values of the datasheet are enough for a first prediction.",
     {{{"roofcast gpu new \"GeForce RTX 4070 SUPER\"", "a profile on standard output"},
       {"roofcast gpu new \"GeForce RTX 4070 SUPER\" --output my-gpu.toml", "a profile as a file"}}}},
    {"model",
     look_up,
     "List, show and check models",
     "A model is an id or alias from `roofcast model list`, a Hugging Face hub id, or a file: TOML, Hugging Face config.json, ONNX, GGUF "
     "or safetensors.",
     {{{"roofcast model list --search llama", "all Llama models"}, {"roofcast model show resnet50", "everything about one model"}}}},
    {"model list",
     "",
     "List the shipped models with their sizes",
     "Filters combine: a model must pass all of them. The exit code is 1 when none does.",
     {{{"roofcast model list --family cnn", "convolutional networks"}, {"roofcast model list --search qwen3", "all Qwen3 models"}}}},
    {"model show",
     "",
     "Show parameters, FLOPs, weights by precision and operators of one model",
     "Use file.toml#id to choose one model of a file that has several.",
     {{{"roofcast model show llama-3.1-8b", "a shipped model"},
       {"roofcast model show models/llama-3.toml#llama-3.1-8b", "one of a file"}}}},
    {"model check",
     "",
     "Compare model files with their published figures",
     "The exit code is 1 when a model deviates from its published figures by more than 1% or their rounding.",
     {{{"roofcast model check models/llama-3.toml", "one file"},
       {"roofcast model check models/llama-3.toml models/resnet.toml --format csv", "two files as CSV"}}}},
    {"software",
     look_up,
     "List and show engines and frameworks",
     "Engines are described in software/. docs/reference/software.md explains the files.",
     {{{"roofcast software list", "all engines and versions"}, {"roofcast software show vllm", "one family of engines"}}}},
    {"software list",
     "",
     "List the engines and versions that are described",
     "An engine is given to other commands by --software.",
     {{{"roofcast software list", "all engines and versions"}, {"roofcast software list --format csv", "the same as CSV"}}}},
    {"software show",
     "",
     "Show what an engine does and costs, with sources",
     "Takes a family, an engine with or without its version, or an execution mode.",
     {{{"roofcast software show \"vllm 0.24\"", "one version"}, {"roofcast software show eager", "an execution mode"}}}},
    {"software keys",
     "",
     "List the keys of the files in software/",
     "Prints the unit, default and meaning of each key.",
     {{{"roofcast software keys", "all keys"}, {"roofcast software keys --format json", "the same as JSON"}}}},
    {"help",
     look_up,
     "Show this overview, or the help of a command",
     "`roofcast help COMMAND` prints the same text as `roofcast COMMAND --help`.",
     {{{"roofcast help predict", "help of a command"}, {"roofcast help gpu show", "help of a subcommand"}}}},
    {"completion",
     look_up,
     "Print a completion script for bash, zsh or fish",
     "The script completes commands, options and their values. Ids of GPUs, models and engines come from the installed data.",
     {{{"roofcast completion bash", "the script for bash"}, {"roofcast completion zsh", "the script for zsh"}}}},
};

}  // namespace

std::span<const CommandDoc> command_docs() {
    return documented;
}

const CommandDoc* find_command_doc(std::string_view name) {
    const auto* doc =
        std::find_if(std::begin(documented), std::end(documented), [name](const CommandDoc& one) { return one.name == name; });
    return doc == std::end(documented) ? nullptr : doc;
}

}  // namespace roofcast::cli
