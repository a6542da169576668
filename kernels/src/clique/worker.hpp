// worker.hpp: one worker of a clique search, and what it has in common with the others.
//
// What is here knows nothing of how wide sets are. A search does, at compile time, and each width
// takes seconds to compile: so whoever begins one does it through `Worker`, and all widths are
// compiled once, in narrow_searches.cpp and wide_searches.cpp.
#pragma once

#include "clique/local_rows.hpp"
#include "lanes/workers.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace bicliq {

/// The best clique so far, shared by all workers; with `target`, the list of all cliques of that
/// size.
class Incumbent {
 public:
  explicit Incumbent(u32 size) : size_(size) {}
  u32 size() const { return size_.load(std::memory_order_relaxed); }

  void offer(std::vector<u32> clique) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (target_) {
      if (clique.size() == target_) cliques_.push_back(std::move(clique));
    } else if (clique.size() > size()) {
      size_.store(static_cast<u32>(clique.size()), std::memory_order_relaxed);
      cliques_ = {std::move(clique)};
    }
  }
  /// From now on every clique of this size is kept.
  void collect(u32 target) {
    target_ = target;
    size_ = target - 1;
    cliques_.clear();
  }
  bool collects() const { return target_ != 0; }
  const std::vector<std::vector<u32>>& cliques() const { return cliques_; }

 private:
  std::atomic<u32> size_;
  u32 target_ = 0;
  std::mutex mutex_;
  std::vector<std::vector<u32>> cliques_;
};

class Worker;

/// A part of the search that any worker can do.
struct Job {
  virtual ~Job() = default;
  virtual void run(Worker& worker) = 0;
};
using CliqueWorkers = Workers<std::unique_ptr<Job>>;

/// Where a search begins: a local graph, and the clique that all of its vertices are tied to.
struct Beginning {
  std::vector<u32> ids;  // of each vertex, in the whole graph
  LocalRows rows;        // in the order in which vertices are coloured
  std::vector<u32> clique;
  std::vector<u64> branches;  // a set of vertices; empty where it is still to be chosen
};

/// A search over sets of one width, which can give away a part of its branches while it is open.
struct WidthSearch {
  virtual ~WidthSearch() = default;
  virtual void begin(const Beginning& at) = 0;
  virtual std::unique_ptr<Job> share() = 0;
};

/// Which bounds are used; the ablation switches them off.
struct Bounds {
  bool recolour = true, refute = true;
};

/// What a search asks of those around it.
struct Surroundings {
  Incumbent& incumbent;
  Bounds bounds;
  CliqueWorkers& workers;
};

std::unique_ptr<WidthSearch> make_narrow_search(u32 words, Worker& worker);  // of at most 16 words
std::unique_ptr<WidthSearch> make_wide_search(u32 words, Worker& worker);

constexpr u32 kWidest = 65536;  // vertices; a degeneracy beyond needs more than 2^31 edges

/// One worker: a search for each width, made when needed, and the stack of those that are open.
class Worker {
 public:
  explicit Worker(Surroundings& around) : around(around) {}

  /// Searches with the narrowest sets that hold all vertices.
  void search(const Beginning& at) { search_of(width_for(at.rows.n())).begin(at); }
  /// The search over sets of 2, 4, 8, 16, 32, 64, 128, 256 or 1,024 words.
  WidthSearch& search_of(u32 words) {
    std::unique_ptr<WidthSearch>& search = searches_[__builtin_ctz(words)];
    if (!search) search = words <= 16 ? make_narrow_search(words, *this) : make_wide_search(words, *this);
    return *search;
  }

  void look_around() {
    if (++nodes % kNodesBetweenLooks || !around.workers.wanted()) return;
    for (WidthSearch* search : open_searches)
      if (std::unique_ptr<Job> job = search->share()) return around.workers.give(std::move(job));
  }

  Surroundings& around;
  std::vector<WidthSearch*> open_searches;  // outermost first
  u64 nodes = 0;

 private:
  static constexpr u64 kNodesBetweenLooks = 64;

  static u32 width_for(u32 n) {
    for (u32 words = 2; words <= 256; words *= 2)
      if (n <= 64 * words) return words;
    return kWidest / 64;
  }

  std::unique_ptr<WidthSearch> searches_[11];  // by the logarithm of the width
};

}  // namespace bicliq
