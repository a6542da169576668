// parallel.hpp: independent items of one kind on several threads, for work that ends within milliseconds.
#pragma once

#include "types.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <vector>

namespace bicliq {

/// f(worker, item) for every item below n, each once; worker 0 is the caller. Rethrows what an item throws.
template <class F>
void each_in_parallel(u32 threads, u32 n, F f) {
  std::atomic<u32> next{0};
  const auto work = [&](u32 worker) {
    for (u32 i; (i = next.fetch_add(1)) < n;) f(worker, i);
  };
  std::vector<std::future<void>> helpers;
  for (u32 worker = 1; worker < std::min(threads, n); ++worker) helpers.push_back(std::async(std::launch::async, work, worker));
  work(0);
  for (std::future<void>& helper : helpers) helper.get();
}

}  // namespace bicliq
