// projection.hpp: the one-mode projection of a bipartite graph: two vertices of a side are
// neighbours when they share at least so many vertices of the other side.
//
// Input: a CSR of the left side, rows ascending and unique; for the right side it is transposed
// first. Method: for each vertex u the paths of two edges to later vertices are counted in an array
// as long as the side, one a worker; only pairs that reach the least count are kept, so that memory
// is the result and these arrays, however many paths there are. Vertices whose own degree is less
// are left out from the start. Time: the paths of two edges between the vertices that are left,
// each once.
#pragma once

#include "graphs/csr.hpp"
#include "lanes/workers.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

class Projection {
 public:
  /// `of_right`: the vertices of the right side are to be the vertices of the result.
  Projection(const Rows& left, u32 n_right, bool of_right, u32 min_shared, u32 threads) : rows_(left), min_shared_(min_shared) {
    workers_.begin([this, n_right, of_right, threads] { run(n_right, of_right, threads); });
  }
  ~Projection() { workers_.end(); }
  Projection(const Projection&) = delete;
  Projection& operator=(const Projection&) = delete;

  /// Waits at most so long; true when the result is there. Rethrows what ended the run.
  bool wait(double seconds) { return workers_.wait(seconds); }
  void end() { workers_.end(); }

  /// The symmetric CSR, rows ascending.
  std::vector<i64> indptr;
  std::vector<i32> indices;

 private:
  static constexpr u32 kChunk = 256;  // vertices that a worker takes at once
  struct Later {                      // of the vertices of a chunk: their later neighbours, ascending
    std::vector<i32> neighbours;
    std::vector<u32> n;
  };
  struct Nothing {};  // what workers give each other: chunks are short enough

  void run(u32 n_right, bool of_right, u32 threads) {
    const auto check = [this] { workers_.check(); };
    usize n_other = n_right;
    if (of_right) {
      n_other = rows_.n;
      own_ = transposed(rows_, n_right, check);
      rows_ = own_.view();
    }
    n_ = static_cast<u32>(rows_.n);
    const auto each = [&](const auto& tell) {
      each_vertex(n_, check, [&](u32 u) {
        if (!takes_part(u)) return;
        for (i32 w : rows_[static_cast<i32>(u)]) tell(static_cast<u32>(w), u);
      });
    };
    std::vector<u32> degree(n_other, 0);
    each([&](u32 w, u32) { ++degree[w]; });
    members_ = gathered<i64, u32>(n_other, [&](usize w) { return degree[w]; }, each);
    later_.resize((usize{n_} + kChunk - 1) / kChunk);
    workers_.search(threads, later_.size(), [this](u32) { work(); });
    assemble();
  }
  bool takes_part(u32 u) const { return rows_.degree(u) >= min_shared_; }

  void work() {
    std::vector<u32> shared(n_, 0), touched;
    while (const auto chunk = workers_.next_root()) {
      const u64 first = *chunk * kChunk;
      for (u64 u = first; u < std::min<u64>(n_, first + kChunk) && !workers_.stopped(); ++u) {
        touched.clear();
        if (takes_part(static_cast<u32>(u))) count_from(static_cast<u32>(u), shared, touched);
        keep(later_[*chunk], shared, touched);
      }
      workers_.root_done();
    }
  }
  void count_from(u32 u, std::vector<u32>& shared, std::vector<u32>& touched) const {
    for (i32 w : rows_[static_cast<i32>(u)]) {
      const u32 *first = members_.row.data() + members_.start[w], *last = members_.row.data() + members_.start[w + 1];
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

  /// Earlier neighbours come before later ones, and both in the order of the vertices: every row is
  /// ascending.
  void assemble() {
    std::vector<i64> earlier(usize{n_} + 1, 0);
    indptr.assign(usize{n_} + 1, 0);
    for (u32 u = 0; u < n_; ++u) indptr[u + 1] = later_[u / kChunk].n[u % kChunk];
    for (const Later& later : later_) {
      workers_.check();
      for (i32 v : later.neighbours) ++indptr[static_cast<usize>(v) + 1];
    }
    for (u32 u = 0; u < n_; ++u) indptr[u + 1] += indptr[u];
    indices.resize(static_cast<usize>(indptr[n_]));
    std::vector<i64> next(indptr.begin(), indptr.end() - 1);
    u32 u = 0;
    for (Later& later : later_) {
      workers_.check();
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

  Rows rows_;
  u32 n_ = 0;
  const u32 min_shared_;
  OwnRows own_;              // the rows of the right side
  Csr<i64, u32> members_;    // of the other side's vertices: those that take part
  std::vector<Later> later_;
  Workers<Nothing> workers_;  // last: its threads use all that is above
};

}  // namespace bicliq
