#include "host/campaign.hpp"

#include <cstdio>
#include <map>

namespace roofcast::microbench {

namespace {

void append(Cells& cells, const Cells& more) {
    cells.insert(cells.end(), more.begin(), more.end());
}

Cells identity(const Case& c, const std::string& gpu) {
    Cells all{{"gpu", gpu}};
    append(all, cells(c));
    return all;
}

void add_provenance(Cells& row, const Outcome& outcome) {
    row.emplace_back("software", plain(outcome.software));
    row.emplace_back("source", "roofcast-microbench");
}

void write_kernel(const Case& c, const std::string& gpu, const Outcome& outcome, RowFile& file) {
    Cells row = identity(c, gpu);
    append(row, latency_cells(sample_statistics(outcome.kernel->samples_us), outcome.kernel->drift));
    row.emplace_back("launch", outcome.launch_included ? "included" : "excluded");
    if (outcome.gpus > 1) row.emplace_back("gpus", std::to_string(outcome.gpus));
    add_provenance(row, outcome);
    file.append(row);
}

/// Figures carry their own quantity in place of the case's.
void write_device(const Case& c, const std::string& gpu, const Outcome& outcome, RowFile& file) {
    for (const DeviceFigure& figure : outcome.device) {
        Cells row{{"gpu", gpu}, {"quantity", figure.quantity}};
        for (const auto& cell : cells(c)) {
            if (cell.first != "quantity") row.push_back(cell);
        }
        if (figure.time_s) {
            char text[32];
            std::snprintf(text, sizeof text, "%.2f", *figure.time_s);
            row.emplace_back("time_s", text);
        }
        append(row, value_cells(sample_statistics(figure.samples)));
        add_provenance(row, outcome);
        file.append(row);
    }
}

/// Tells the first case that fails for a reason, and at the end how many more did: a GPU without fp8 lacks it in hundreds of cases.
class Failures {
public:
    explicit Failures(const Surroundings& surroundings) : surroundings_(surroundings) {}

    void add(const Case& c, const std::string& reason) {
        if (counts_[reason]++ == 0) surroundings_.message(described(c) + ": " + reason);
    }
    void sum_up() const {
        for (const auto& [reason, count] : counts_) {
            if (count > 1) surroundings_.message(std::to_string(count) + " cases in all: " + reason);
        }
    }

private:
    const Surroundings& surroundings_;
    std::map<std::string, std::size_t> counts_;
};

}  // namespace

CampaignResult run_campaign(const std::vector<PlannedCase>& cases, std::optional<double> budget_s, const std::string& gpu,
                            const Measurer& measure, RowFile& kernels, RowFile& device, const Surroundings& surroundings) {
    CampaignResult result;
    Budget budget(budget_s);
    Failures failures(surroundings);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const auto& [work, expected_s] = cases[i];
        RowFile& file = measures_device(work) ? device : kernels;
        if (file.contains(identity(work, gpu))) {
            ++result.already_done;
            continue;
        }
        if (!budget.allows(expected_s)) {
            result.out_of_budget = true;
            break;
        }
        const double begin = surroundings.seconds();
        try {
            const Outcome outcome = measure(work);
            if (outcome.kernel) write_kernel(work, gpu, outcome, kernels);
            write_device(work, gpu, outcome, device);
            ++result.measured;
        } catch (const CaseError& e) {
            failures.add(work, e.what());
            ++result.failed;
        }
        budget.spend(expected_s, surroundings.seconds() - begin);
        surroundings.progress(i + 1, cases.size(), budget.spent());
    }
    failures.sum_up();
    return result;
}

}  // namespace roofcast::microbench
