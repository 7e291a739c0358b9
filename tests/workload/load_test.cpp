#include <doctest/doctest.h>

#include <set>

#include "roofcast/error.hpp"
#include "roofcast/workload.hpp"
#include "support/paths.hpp"
#include "workload/catalogue.hpp"

using namespace roofcast;
using roofcast::test::TemporaryFile;

namespace {

constexpr const char* two_models = R"(
family = "llm"
source = "a test"
vocabulary = 1000
max_context = 128
[[variant]]
id = "small"
aliases = ["tiny"]
layers = 2
hidden = 64
heads = 4
intermediate = 256
[[variant]]
id = "large"
layers = 4
hidden = 128
heads = 4
kv_heads = 2
intermediate = 512
vocabulary = 2000
)";

/// What an attempt to load says.
ErrorDetail load_failure(const std::filesystem::path& file, std::string_view id = {}) {
    try {
        load_workload(file, id);
    } catch (const Error& e) {
        return e.detail();
    }
    FAIL("no error");
    return {};
}

std::string with_text(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("shipped models are found by their ids and aliases, in any case") {
    // The catalogue refuses names that two models share; one model of each file stands for the others.
    std::set<std::string> files;
    for (const Workload& workload : load_workload_catalogue(test::models_dir())) {
        if (!files.insert(workload.file).second) continue;
        CAPTURE(workload.id);
        CHECK(find_workload(test::models_dir(), workload.id).id == workload.id);
        for (const std::string& alias : workload.aliases) CHECK(find_workload(test::models_dir(), alias).id == workload.id);
    }
    CHECK(find_workload(test::models_dir(), "Llama-3.1-8B").id == "llama-3.1-8b");
}

TEST_CASE("a model's own script is what its file says, and nothing besides") {
    const TemporaryFile plain("model.toml", two_models);
    CHECK_FALSE(load_workload(plain.path(), "small").own_script.casts_model);
    CHECK_FALSE(load_workload(plain.path(), "small").own_script.folds_norms);
    const TemporaryFile scripted("model.toml",
                                 with_text(two_models, "vocabulary = 1000", "vocabulary = 1000\nown_script.casts_model = true"));
    CHECK(load_workload(scripted.path(), "large").own_script.casts_model);
    CHECK_FALSE(load_workload(scripted.path(), "large").own_script.folds_norms);
    const TemporaryFile unknown("model.toml", with_text(two_models, "vocabulary = 1000", "vocabulary = 1000\nown_script.halves = true"));
    CHECK(load_failure(unknown.path(), "small").key.ends_with("own_script.halves"));
}

TEST_CASE("names that pad as TensorFlow does are a model of their own with the same layers") {
    const std::string net = R"(
id = "net"
aliases = ["a"]
same_padding_aliases = ["tf_net", "tf_a"]
family = "cnn"
source = "a test"
layers = [{conv = 8, kernel = 3, stride = 2}, {global_pool = true}, {linear = true}]
)";
    const TemporaryFile file("net.toml", net);
    CHECK(workload_names(file.path()) == std::vector<std::string>{"net", "a", "tf_net", "tf_a"});
    CHECK_FALSE(std::get<ConvNet>(load_workload(file.path(), "a").architecture).same_padding);
    const Workload padded = load_workload(file.path(), "tf_a");
    CHECK(padded.id == "tf_net");
    CHECK(padded.aliases == std::vector<std::string>{"tf_a"});
    CHECK(std::get<ConvNet>(padded.architecture).same_padding);
    CHECK(load_workloads(file.path()).size() == 2);
    const TemporaryFile wrong("model.toml", with_text(two_models, "aliases = [\"tiny\"]", "same_padding_aliases = [\"tf_tiny\"]"));
    CHECK(load_failure(wrong.path(), "small").key.ends_with("same_padding_aliases"));
    const TemporaryFile empty("net.toml", with_text(net, "[\"tf_net\", \"tf_a\"]", "[]"));
    CHECK(load_failure(empty.path(), "net").key == "same_padding_aliases");
    const TemporaryFile above("model.toml", "same_padding_aliases = [\"tf_tiny\"]\n" + std::string(two_models));
    CHECK(load_failure(above.path(), "small").key == "same_padding_aliases");
}

TEST_CASE("a variant's keys override the shared ones") {
    const TemporaryFile file("two.toml", two_models);
    const auto small = std::get<DecoderLlm>(load_workload(file.path(), "tiny").architecture);
    const auto large = std::get<DecoderLlm>(load_workload(file.path(), "large").architecture);
    CHECK(small.vocabulary == 1000);
    CHECK(large.vocabulary == 2000);
    CHECK(small.kv_heads == 4);
    CHECK(small.head_dim == 16);
    CHECK(large.kv_heads == 2);
    CHECK(find_workload(test::models_dir(), file.path().string() + "#large").id == "large");
}

TEST_CASE("an unknown model names the nearest ones") {
    try {
        find_workload(test::models_dir(), "llama-3-8");
        FAIL("no error");
    } catch (const Error& e) {
        CHECK(e.detail().suggestion.find("llama-3-8b") != std::string::npos);
    }
}

TEST_CASE("a file of several models wants one named, and lists them") {
    const TemporaryFile file("two.toml", two_models);
    CHECK(load_failure(file.path()).expected.find("small, tiny, large") != std::string::npos);
    CHECK(load_failure(file.path(), "smal").suggestion.find("small") != std::string::npos);
}

TEST_CASE("misspelt keys are errors wherever they stand, with line and suggestion") {
    const TemporaryFile in_variant("a.toml", with_text(two_models, "kv_heads", "kv_head"));
    const ErrorDetail variant = load_failure(in_variant.path(), "large");
    CHECK(variant.line == 18);
    CHECK(variant.suggestion.find("kv_heads") != std::string::npos);
    const TemporaryFile shared("b.toml", with_text(two_models, "vocabulary", "vocabulry"));
    CHECK(load_failure(shared.path(), "large").key.find("vocabulry") != std::string::npos);
    const TemporaryFile in_table("c.toml", std::string(two_models) + "moe = { experts = 8, topk = 2, expert_intermediate = 64 }\n");
    CHECK(load_failure(in_table.path(), "large").key.find("moe.topk") != std::string::npos);
}

TEST_CASE("missing keys, wrong types and impossible sizes name the key") {
    const TemporaryFile missing("a.toml", with_text(two_models, "layers = 2\n", ""));
    CHECK(load_failure(missing.path(), "small").key == "variant[0].layers");
    const TemporaryFile zero("b.toml", with_text(two_models, "layers = 2", "layers = 0"));
    CHECK(load_failure(zero.path(), "small").key == "variant[0].layers");
    const TemporaryFile text("c.toml", with_text(two_models, "layers = 2", "layers = \"two\""));
    CHECK(load_failure(text.path(), "small").found == "'two'");
    const TemporaryFile heads("d.toml", with_text(two_models, "kv_heads = 2", "kv_heads = 3"));
    CHECK(load_failure(heads.path(), "large").key == "variant[1].kv_heads");
    const TemporaryFile activation("f.toml",
                                   with_text(two_models, "layers = 2", "gated_mlp = false\nactivation = \"gelu_nwe\"\nlayers = 2"));
    CHECK(load_failure(activation.path(), "small").key == "variant[0].activation");
    CHECK(load_failure(activation.path(), "small").suggestion.find("gelu_new") != std::string::npos);
    const TemporaryFile family("e.toml", with_text(two_models, "\"llm\"", "\"lm\""));
    CHECK(load_failure(family.path(), "large").suggestion.find("llm") != std::string::npos);
}

TEST_CASE("as many stages as would shift the width out of its type are refused") {
    std::string list = "[1";
    for (int i = 1; i < 70; ++i) list += ", 1";
    list += "]";
    const TemporaryFile swin("a.toml", "id = \"s\"\nfamily = \"swin\"\nsource = \"a test\"\nembed = 8\nwindow = 7\ndepths = " + list +
                                           "\nheads = " + list + "\n");
    CHECK(load_failure(swin.path()).key == "depths");
}

TEST_CASE("a stage of more layers than can be counted is refused") {
    const TemporaryFile swin("a.toml",
                             "id = \"s\"\nfamily = \"swin\"\nsource = \"a test\"\nembed = 8\nwindow = 7\n"
                             "depths = [9223372036854775807, 2]\nheads = [1, 1]\n");
    CHECK(load_failure(swin.path()).key == "depths");
    CHECK(load_failure(swin.path()).expected == "whole numbers from 1 to 16777216");
}

TEST_CASE("an image of more patches and tiles than can be counted is refused") {
    const std::string language =
        "[language]\nlayers = 1\nhidden = 8\nheads = 1\nintermediate = 8\nvocabulary = 8\nmax_context = 8\ncross_attention_layers = [0]\n";
    const auto model = [&](const std::string& image, const std::string& tiles) {
        return "id = \"v\"\nfamily = \"vlm\"\nsource = \"a test\"\ntiles = " + tiles + "\n" + language +
               "[vision]\npatch = 1\nlayers = 1\nhidden = 8\nheads = 1\nimage_size = " + image + "\n";
    };
    CHECK(load_failure(TemporaryFile("a.toml", model("1_000_000_000_000", "4")).path()).key == "vision.image_size");
    CHECK(load_failure(TemporaryFile("b.toml", model("224", "10_000_000")).path()).key == "tiles");
}

TEST_CASE("published figures without a source are an error") {
    const TemporaryFile file("a.toml", std::string(two_models) + "published.parameters = 1000\n");
    CHECK(load_failure(file.path(), "large").key.find("published.source") != std::string::npos);
}

TEST_CASE("empty files, directories and missing files say so") {
    const TemporaryFile empty("empty.toml", "\n");
    CHECK(load_failure(empty.path()).what == "the file is empty");
    CHECK(load_failure(empty.path().parent_path()).what == "this is a directory, not a file");
    CHECK(load_failure("/nowhere/model.toml").what == "the file does not exist");
}

TEST_CASE("an id that two files claim is an error of the catalogue") {
    const TemporaryFile file("two.toml", with_text(two_models, "\"large\"", "\"tiny\""));
    CHECK_THROWS_AS(load_workload_catalogue(file.path().parent_path()), Error);
}

TEST_CASE("a misspelt required key of a model is named with its line") {
    const TemporaryFile width("a.toml", with_text(two_models, "intermediate = 256", "intermedate = 256"));
    CHECK(load_failure(width.path(), "small").key == "variant[0].intermedate");
    CHECK(load_failure(width.path(), "small").line == 12);
    CHECK(load_failure(width.path(), "small").suggestion == "did you mean intermediate?");
    const TemporaryFile hidden("a.toml", with_text(two_models, "hidden = 64", "hiden = 64"));
    CHECK(load_failure(hidden.path(), "small").key == "variant[0].hiden");
    CHECK(load_failure(hidden.path(), "small").line == 10);
}
