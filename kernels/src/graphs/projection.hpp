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

#include "graphs/passes.hpp"
#include "lanes/workers.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {
inline namespace BICLIQ_ISA {

class Projection {
 public:
  /// `of_right`: the vertices of the right side are to be the vertices of the result.
  Projection(const i64* indptr, const i32* indices, u32 n_left, u32 n_right, bool of_right, u32 min_shared, u32 threads)
      : indptr_(indptr), indices_(indices), n_(of_right ? n_right : n_left), n_other_(of_right ? n_left : n_right),
        min_shared_(min_shared) {
    workers_.begin([this, of_right, threads] { run(of_right, threads); });
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

  void run(bool of_right, u32 threads) {
    if (of_right) transpose_rows();
    transpose();
    later_.resize((usize{n_} + kChunk - 1) / kChunk);
    workers_.search(threads, later_.size(), [this](u32) { work(); });
    assemble();
  }
  auto check() {
    return [this] { workers_.check(); };
  }
  bool takes_part(u32 u) const { return indptr_[u + 1] - indptr_[u] >= min_shared_; }

  /// Puts the rows of the right side where those of the left are.
  void transpose_rows() {
    const i64 n_edges = indptr_[n_other_];
    own_indptr_.assign(usize{n_} + 1, 0);
    each_edge(static_cast<u64>(n_edges), check(), [&](u64 e) { ++own_indptr_[static_cast<usize>(indices_[e]) + 1]; });
    for (usize w = 0; w < n_; ++w) own_indptr_[w + 1] += own_indptr_[w];
    own_indices_.resize(static_cast<usize>(n_edges));
    std::vector<i64> next(own_indptr_.begin(), own_indptr_.end() - 1);
    each_vertex(n_other_, check(), [&](u32 u) {
      for (i64 e = indptr_[u]; e < indptr_[u + 1]; ++e)
        own_indices_[static_cast<usize>(next[static_cast<usize>(indices_[e])]++)] = static_cast<i32>(u);
    });
    indptr_ = own_indptr_.data();
    indices_ = own_indices_.data();
  }
  /// Lists the members of each vertex of the other side.
  void transpose() {
    start_.assign(usize{n_other_} + 1, 0);
    each_vertex(n_, check(), [&](u32 u) {
      if (takes_part(u))
        for (i64 e = indptr_[u]; e < indptr_[u + 1]; ++e) ++start_[static_cast<usize>(indices_[e]) + 1];
    });
    for (usize w = 0; w < n_other_; ++w) start_[w + 1] += start_[w];
    members_.resize(start_[n_other_]);
    std::vector<u64> next(start_.begin(), start_.end() - 1);
    each_vertex(n_, check(), [&](u32 u) {
      if (takes_part(u))
        for (i64 e = indptr_[u]; e < indptr_[u + 1]; ++e) members_[next[static_cast<usize>(indices_[e])]++] = u;
    });
  }

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

  const i64* indptr_;
  const i32* indices_;
  const u32 n_, n_other_;
  const i64 min_shared_;
  std::vector<i64> own_indptr_;
  std::vector<i32> own_indices_;
  std::vector<u64> start_;
  std::vector<u32> members_;  // of the other side's vertices, ascending
  std::vector<Later> later_;
  Workers<Nothing> workers_;  // last: its threads use all that is above
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
