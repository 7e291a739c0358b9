#include "io/write_all.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace roofcast {

int write_all(int descriptor, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
            if (::poll(&ready, 1, -1) < 0 && errno != EINTR) return errno;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

std::string system_reason(int error) {
    return std::generic_category().message(error);
}

std::string remedy(int error) {
    switch (error) {
        case ENOSPC:
        case EDQUOT:
            return "free space there, or name a file on another disk";
        case EFBIG:
            return "raise the limit on the size of files, or write less";
        case EACCES:
        case EPERM:
        case EROFS:
            return "check the permissions, or name a file elsewhere";
        default:
            return {};
    }
}

}  // namespace roofcast
