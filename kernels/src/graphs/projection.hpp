// projection.hpp: the one-mode projection of a bipartite graph: two vertices of a side are neighbours when they share
// at least so many vertices of the other side.
//
// Input: a CSR of the side, rows ascending and unique. Method: for each vertex u the paths of two edges to later
// vertices are counted in an array as long as the side, one a thread; only pairs that reach the least count are kept,
// so that memory is the result and these arrays, however many paths there are. Vertices whose own degree is less are
// left out from the start. Time: the paths of two edges between the vertices that are left, each once.
#pragma once

#include "lanes/types.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace bicliq {
inline namespace BICLIQ_ISA {

class Projection {
 public:
  Projection(const i64* indptr, const i32* indices, u32 n, u32 n_other, u32 min_shared, u32 threads)
      : indptr_(indptr), indices_(indices), n_(n), min_shared_(min_shared), later_((n + kChunk - 1) / kChunk),
        main_([this, n_other, threads] { run(n_other, threads); }) {}
  ~Projection() {
    stop();
    main_.join();
  }
  Projection(const Projection&) = delete;
  Projection& operator=(const Projection&) = delete;

  bool wait(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return ended_; });
    if (ended_ && error_) std::rethrow_exception(error_);
    return ended_;
  }
  void stop() { stopped_ = true; }

  /// The symmetric CSR, rows ascending.
  std::vector<i64> indptr;
  std::vector<i32> indices;

 private:
  static constexpr u32 kChunk = 256;  // vertices that a thread takes at once
  struct Later {                      // of the vertices of a chunk: their later neighbours, ascending
    std::vector<i32> neighbours;
    std::vector<u32> n;
  };

  void run(u32 n_other, u32 threads) {
    try {
      transpose(n_other);
      std::vector<std::thread> team;
      for (u32 i = 1; i < threads; ++i) team.emplace_back([this] { guarded_work(); });
      guarded_work();
      for (std::thread& t : team) t.join();
      if (!error_ && !stopped_) assemble();
    } catch (...) {
      fail(std::current_exception());
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    wake_.notify_all();
  }
  void fail(std::exception_ptr error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::move(error);
    stopped_ = true;
  }
  bool takes_part(u32 u) const { return indptr_[u + 1] - indptr_[u] >= min_shared_; }

  void transpose(u32 n_other) {
    start_.assign(usize{n_other} + 1, 0);
    for (u32 u = 0; u < n_; ++u)
      if (takes_part(u))
        for (i64 e = indptr_[u]; e < indptr_[u + 1]; ++e) ++start_[static_cast<usize>(indices_[e]) + 1];
    for (u32 w = 0; w < n_other; ++w) start_[w + 1] += start_[w];
    members_.resize(start_[n_other]);
    std::vector<u64> next(start_.begin(), start_.end() - 1);
    for (u32 u = 0; u < n_; ++u)
      if (takes_part(u))
        for (i64 e = indptr_[u]; e < indptr_[u + 1]; ++e) members_[next[static_cast<usize>(indices_[e])]++] = u;
  }

  void guarded_work() {
    try {
      work();
    } catch (...) {
      fail(std::current_exception());
    }
  }
  void work() {
    std::vector<u32> shared(n_, 0), touched;
    for (u32 chunk; !stopped_ && (chunk = next_++) < later_.size();)
      for (u32 u = chunk * kChunk; u < std::min(n_, (chunk + 1) * kChunk) && !stopped_; ++u) {
        touched.clear();
        if (takes_part(u)) count_from(u, shared, touched);
        keep(later_[chunk], shared, touched);
      }
  }
  void count_from(u32 u, std::vector<u32>& shared, std::vector<u32>& touched) const {
    for (i64 e = indptr_[u]; e < indptr_[u + 1]; ++e) {
      const usize w = static_cast<usize>(indices_[e]);
      const u32 *first = members_.data() + start_[w], *last = members_.data() + start_[w + 1];
      for (const u32* v = std::upper_bound(first, last, u); v != last; ++v)
        if (shared[*v]++ == 0) touched.push_back(*v);
    }
  }
  void keep(Later& later, std::vector<u32>& shared, std::vector<u32>& touched) const {
    usize kept = 0;
    for (u32 v : touched) {
      if (shared[v] >= min_shared_) touched[kept++] = v;
      shared[v] = 0;
    }
    touched.resize(kept);
    std::sort(touched.begin(), touched.end());
    later.neighbours.insert(later.neighbours.end(), touched.begin(), touched.end());
    later.n.push_back(static_cast<u32>(kept));
  }

  /// Earlier neighbours come before later ones, and both in the order of the vertices: every row is ascending.
  void assemble() {
    std::vector<i64> earlier(usize{n_} + 1, 0);
    indptr.assign(usize{n_} + 1, 0);
    for (u32 u = 0; u < n_; ++u) indptr[u + 1] = later_[u / kChunk].n[u % kChunk];
    for (const Later& later : later_)
      for (i32 v : later.neighbours) ++indptr[static_cast<usize>(v) + 1];
    for (u32 u = 0; u < n_; ++u) indptr[u + 1] += indptr[u];
    indices.resize(static_cast<usize>(indptr[n_]));
    std::vector<i64> next(indptr.begin(), indptr.end() - 1);
    u32 u = 0;
    for (Later& later : later_) {
      const i32* v = later.neighbours.data();
      for (u32 n : later.n) {
        for (u32 i = 0; i < n; ++i, ++v) {
          indices[static_cast<usize>(next[u]++)] = *v;
          indices[static_cast<usize>(next[static_cast<usize>(*v)]++)] = static_cast<i32>(u);
        }
        ++u;
      }
      later = Later();
    }
  }

  const i64* indptr_;
  const i32* indices_;
  const u32 n_;
  const i64 min_shared_;
  std::vector<u64> start_;
  std::vector<u32> members_;  // of the other side's vertices, ascending
  std::vector<Later> later_;
  std::atomic<u32> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::exception_ptr error_;
  std::thread main_;  // last: it uses all that is above
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
