#include "calibration/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace roofcast {

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& job) {
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
        std::vector<std::jthread> threads;
        const std::size_t wanted = std::min<std::size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
        for (std::size_t i = 0; i < wanted; ++i) threads.emplace_back(work);
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace roofcast
