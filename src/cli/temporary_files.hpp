#pragma once
/// Temporary files of the program, which a signal that ends it removes.

#include "io/atomic_file.hpp"

namespace roofcast::cli {

/// The names that exist now. Where all places are taken a name is not kept, and would stay.
TemporaryNames& temporary_files();

/// From here on SIGINT, SIGTERM and SIGHUP remove the files of `temporary_files` and then end the program as they do by default. A signal
/// that is ignored, as nohup has it, stays ignored.
void remove_temporary_files_at_signals();

}  // namespace roofcast::cli
