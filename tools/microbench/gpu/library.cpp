#include "gpu/library.hpp"

#include <dlfcn.h>

#include "host/case_error.hpp"

namespace roofcast::microbench {

Library::Library(const std::vector<std::string>& names) : name_(names.front()) {
    for (const auto& name : names) {
        handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ != nullptr) return;
    }
}

Library::~Library() {
    if (handle_ != nullptr) dlclose(handle_);
}

void* Library::address(const char* symbol) const {
    if (handle_ == nullptr) throw CaseError(name_ + " was not found; is its folder in LD_LIBRARY_PATH?");
    void* found = dlsym(handle_, symbol);
    if (found == nullptr) throw CaseError(name_ + " has no " + symbol + ": its version is too old or too new");
    return found;
}

}  // namespace roofcast::microbench
