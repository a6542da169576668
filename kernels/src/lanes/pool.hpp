// pool.hpp: what costs more to make than to use, given back by who used it.
//
// Fresh memory is the reason: the kernel clears each page of it, which can cost more than what is
// written there. Any thread may take and give.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace bicliq {

template <class T>
class Pool {
 public:
  /// At most so many are kept.
  explicit Pool(std::size_t most) : most_(most) {}
  /// The one that was given last, or what `make` makes, a `std::unique_ptr<T>`.
  template <class Make>
  std::unique_ptr<T> take(Make make) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<T> one = std::move(free_.back());
        free_.pop_back();
        return one;
      }
    }
    return make();
  }
  void give(std::unique_ptr<T> one) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_.size() < most_) free_.push_back(std::move(one));
  }
  /// All that are kept; then none is.
  std::vector<std::unique_ptr<T>> empty() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(free_, {});
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace bicliq
