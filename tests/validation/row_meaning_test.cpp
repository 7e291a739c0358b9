// What `[[rows]]` say of served loads beyond their columns.
#include <doctest/doctest.h>

#include "support/compare.hpp"
#include "support/paths.hpp"
#include "validation/hosts.hpp"
#include "validation/row_request.hpp"

using namespace roofcast;

namespace {

ModelRow load(std::int64_t tensor, std::int64_t copies, std::int64_t expert_tensor, std::int64_t expert) {
    ModelRow row;
    row.gpu = "b200-sxm";
    row.model = "org/model";
    row.origin = {.software = "engine 1.2", .source = "published"};
    row.checkpoint = parse_weight_format("fp4");
    row.prompt_tokens = row.output_tokens = 1024;
    row.parallel.tensor = tensor;
    row.parallel.expert = expert;
    row.attention_data_parallel = copies;
    row.expert_tensor_parallel = expert_tensor;
    row.served = ServedLoad{.requests = 40, .rate_per_s = {}, .users = 4, .settings = {}};
    return row;
}

RowMeaning meaning() {
    RowMeaning m;
    m.source = "published";
    return m;
}

}  // namespace

TEST_CASE("degrees that a source multiplied with each other are taken apart") {
    RowMeaning m = meaning();
    m.multiplied_degrees = true;
    const auto degrees = [&](const ModelRow& row) {
        const ModelRow meant = with_meanings(row, {m});
        return std::array{meant.parallel.tensor, meant.attention_data_parallel, meant.parallel.expert};
    };
    CHECK(degrees(load(64, 1, 8, 8)) == std::array<std::int64_t, 3>{8, 1, 8});
    CHECK(degrees(load(1, 64, 8, 8)) == std::array<std::int64_t, 3>{1, 8, 8});
    CHECK(degrees(load(2, 2, 1, 4)) == std::array<std::int64_t, 3>{1, 2, 2});
    CHECK(degrees(load(8, 1, 1, 8)) == std::array<std::int64_t, 3>{8, 1, 8});  // as they are
    CHECK(degrees(load(4, 1, 4, 1)) == std::array<std::int64_t, 3>{4, 1, 1});
}

TEST_CASE("settings of a source hold where the row states none, the first first") {
    RowMeaning many = meaning(), all = meaning();
    many.least_users = 16;
    many.scheduler.poll_steps = 30;
    all.scheduler.poll_steps = 10;
    all.scheduler.max_tokens = 2048;
    all.kv_precision = Precision::fp8;
    all.shortest_lengths = 0.8;
    ModelRow row = load(8, 1, 8, 1);
    row.served->settings.max_tokens = 512;
    ModelRow meant = with_meanings(row, {many, all});
    CHECK(meant.served->settings.poll_steps == 10);
    CHECK(meant.served->settings.max_tokens == 512);
    CHECK(meant.kv_precision == Precision::fp8);
    CHECK(meant.served->shortest == 0.8);
    row.served->users = 16;
    CHECK(with_meanings(row, {many, all}).served->settings.poll_steps == 30);
}

TEST_CASE("conditions on model, GPU, format, lengths, degrees and version tell rows apart") {
    const auto stands = [](const auto& set) {
        RowMeaning m = meaning();
        m.checkpoint = "other";
        set(m);
        return with_meanings(load(8, 1, 8, 1), {m}).model == "other";
    };
    CHECK(stands([](RowMeaning&) {}));
    CHECK(stands([](RowMeaning& m) { m.models = {"org/model"}; }));
    CHECK_FALSE(stands([](RowMeaning& m) { m.models = {"org/another"}; }));
    CHECK_FALSE(stands([](RowMeaning& m) { m.gpus = {"h200-sxm-141gb"}; }));
    CHECK(stands([](RowMeaning& m) { m.format = Precision::fp4; }));
    CHECK_FALSE(stands([](RowMeaning& m) { m.format = Precision::fp8; }));
    CHECK_FALSE(stands([](RowMeaning& m) { m.prompt_tokens = 8192; }));
    CHECK_FALSE(stands([](RowMeaning& m) { m.output_tokens = 8192; }));
    CHECK_FALSE(stands([](RowMeaning& m) { m.most_tensor = 4; }));
    CHECK_FALSE(stands([](RowMeaning& m) { m.attention_copies = true; }));
    CHECK_FALSE(stands([](RowMeaning& m) {
        m.software = "engine";
        m.unversioned = true;
    }));
}
