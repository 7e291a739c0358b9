#pragma once
/// What `software list`, `software show` and `software keys` print.

#include <string_view>

#include "document/table.hpp"
#include "roofcast/software.hpp"

namespace roofcast {

/// One line an engine, by family.
Report software_list_report(const SoftwareStacks& software);

/// Keys that `chosen` states, beside what its execution mode has; one table an engine.
Report software_report(const std::vector<const Engine*>& chosen);
/// The same of an execution mode.
Report software_report(const SoftwareStack& mode);

/// All keys with units, meanings and values of tables without them.
Report software_keys_report();

}  // namespace roofcast
