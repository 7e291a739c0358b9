#include "io/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace roofcast {

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& job, std::size_t threads) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
        for (std::size_t i = next++; i < count; i = next++) {
            try {
                job(i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!failure) failure = std::current_exception();
                next = count;
            }
        }
    };
    {
        std::vector<std::jthread> others;
        const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
        const std::size_t wanted = std::min(count, threads == 0 ? cores : threads);
        try {
            while (others.size() + 1 < wanted) others.emplace_back(work);
        } catch (const std::system_error&) {
            // No more threads to be had: those that there are do it.
        }
        work();
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace roofcast
