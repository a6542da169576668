// open_roots.hpp: how the workers of a count share roots, and the steps of a root that is heavy.
//
// The largest roots come first. A worker takes the steps of its own root without a word to the
// others, until one of them waits: then it opens the root, takes its steps from a counter, and with
// each of them invites a worker that waits. An open root is read by all and written by none until
// its owner has seen the last guest leave.
#pragma once

#include "lanes/workers.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace bicliq {

/// The steps of one root, for whoever comes to take some.
struct alignas(kLineBytes) OpenRoot {
  u32 owner = 0;
  std::atomic<u32> next{0}, n{0}, guests{0};
  std::atomic<bool> open{false};
};
using CountWorkers = Workers<OpenRoot*>;

/// `Search` has `open(root)`, which returns the number of independent steps below a root, and
/// `step(owner, i)`. Both end soon when the run is stopped; their sums are then worth nothing.
template <class Search>
class OpenRoots {
 public:
  using Members = std::vector<std::unique_ptr<Search>>;

  OpenRoots(CountWorkers& workers, const Members& members, const std::vector<u32>& roots)
      : workers_(workers), members_(members), roots_(roots), open_(members.size()) {
    for (u32 k = 0; k < open_.size(); ++k) open_[k].owner = k;
  }
  /// All roots, by as many workers as there are members.
  void search() {
    workers_.search(static_cast<u32>(members_.size()), roots_.size(), [this](u32 k) { work(k); });
  }

 private:
  static constexpr u32 kWorthSharing = 8;  // steps; below it the announcement costs more than it brings

  void work(u32 k) {
    while (const auto place = workers_.next_root()) {
      search_root(k, roots_[roots_.size() - 1 - *place]);
      workers_.root_done();
    }
    while (const auto root = workers_.take()) visit(k, **root);
  }
  void search_root(u32 k, u32 root) {
    Search& mine = *members_[k];
    const u32 n = mine.open(root);
    for (u32 i = 0; i < n && !workers_.stopped(); ++i) {
      if (workers_.wanted() && n - i >= kWorthSharing) return share_steps(k, i, n);
      mine.step(mine, i);
    }
  }
  /// The steps of k's root from `first` on, with those who have no root of their own.
  void share_steps(u32 k, u32 first, u32 n) {
    OpenRoot& root = open_[k];
    root.next = first;
    root.n = n;
    root.open = true;
    {
      const Closing closing{root};
      take_steps(k, root);
    }
  }
  void take_steps(u32 worker, OpenRoot& root) {
    for (u32 i; !workers_.stopped() && (i = root.next.fetch_add(1)) < root.n;) {
      if (workers_.wanted() && root.n - i > kWorthSharing) workers_.give(&root);
      members_[worker]->step(*members_[root.owner], i);
    }
  }
  /// An invitation may be older than the root that is open by now, or than the last step: both are
  /// harmless.
  void visit(u32 k, OpenRoot& root) {
    ++root.guests;
    const Leaving leaving{root};
    if (root.open) take_steps(k, root);
  }
  struct Closing {
    OpenRoot& root;
    ~Closing() {
      root.open = false;
      while (root.guests > 0) std::this_thread::yield();
    }
  };
  struct Leaving {
    OpenRoot& root;
    ~Leaving() { --root.guests; }
  };

  CountWorkers& workers_;
  const Members& members_;
  const std::vector<u32>& roots_;
  std::vector<OpenRoot> open_;
};

}  // namespace bicliq
