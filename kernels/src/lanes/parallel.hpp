// parallel.hpp: threads that share short lists of independent items, one list after the other, and then go on to long work.
//
// The helpers are there before the first list, and look for the next one every 20 µs. A thread that is started for a list
// of a millisecond may spend most of it on the processor of the one that started it (processors.hpp).
#pragma once

#include "lanes/processors.hpp"
#include "lanes/types.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace bicliq {

/// A cache line: what one thread writes again and again stands on other ones than what others read.
constexpr usize kLineBytes = 64;

class Helpers {
 public:
  /// The caller is one of the workers.
  explicit Helpers(u32 workers) {
    const Processors processors;
    for (u32 worker = 1; worker < workers; ++worker)
      threads_.emplace_back([this, worker, processors] {
        processors.move_on(worker);
        help(worker);
      });
  }
  ~Helpers() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  u32 workers() const { return static_cast<u32>(threads_.size()) + 1; }

  /// f(worker, item) for every item below n, each once. Rethrows what an item throws.
  void each(u32 n, std::function<void(u32, u32)> f) {
    announce(n, std::move(f));
    take_items(0);
    while (busy_ > 0) std::this_thread::yield();
    if (error_) std::rethrow_exception(error_);
  }
  /// f(item) once for every helper, without the caller, who does not wait; the helpers end after it. It must not throw.
  void leave_with(std::function<void(u32)> f) {
    announce(workers() - 1, [f = std::move(f)](u32, u32 item) { f(item); });
    ended_ = true;
  }

 private:
  void announce(u32 n, std::function<void(u32, u32)> f) {
    item_ = std::move(f);
    n_ = n;
    next_ = 0;
    error_ = nullptr;
    failed_ = false;
    busy_ = workers() - 1;
    ++list_;
  }
  void help(u32 worker) {
    for (u32 seen = 0;;) {
      const bool is_last = ended_;
      if (list_ != seen) {
        ++seen;
        take_items(worker);
        --busy_;
      } else if (is_last) {
        return;
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
  }
  void take_items(u32 worker) {
    try {
      for (u32 i; !failed_ && (i = next_.fetch_add(1)) < n_;) item_(worker, i);
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
  }

  std::vector<std::thread> threads_;
  std::function<void(u32, u32)> item_;
  u32 n_ = 0;
  std::atomic<u32> list_{0}, next_{0}, busy_{0};
  std::atomic<bool> ended_{false}, failed_{false};
  std::exception_ptr error_;
};

}  // namespace bicliq
