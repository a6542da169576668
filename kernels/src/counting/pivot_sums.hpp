// pivot_sums.hpp: what the leaves of a pivot search add up to: one (p,q), the same of every vertex,
// or all (p,q).
//
// A leaf stands for C(optional, p - held) · C(optional, q - held) bicliques of each (p,q). A sum
// says what a part of the search came to (`Part`), and is told which vertex was held or optional in
// which part; so each vertex gets its share in constant time a node. Terms that do not fit in 128
// bits are kept by their factors (count128.hpp).
#pragma once

#include "counting/trees.hpp"
#include "counting/count128.hpp"
#include "counting/pivot.hpp"

#include <deque>
#include <mutex>
#include <vector>

namespace bicliq {

// ---- Trees (trees.hpp) on their way from the workers of a pivot search to a device.
//
// A worker fills a parcel of its own and hands it over when it is full. Parcels that nobody fetches
// are few: a worker that finds the queue full keeps its trees and counts them itself, so that
// neither machine waits for the other.

using TreeParcel = std::vector<u32>;

class TreeQueue {
 public:
  /// Trees may have so many optional vertices a side, candidates included.
  explicit TreeQueue(u32 most_optional) : most_optional_(most_optional) {}
  u32 most_optional() const { return most_optional_; }

  /// False where there is no room: then the parcel stays as it is.
  bool hand_over(TreeParcel& parcel) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (parcels_.size() >= kMostParcels) return false;
    parcels_.push_back(std::move(parcel));
    parcel = TreeParcel();
    return true;
  }
  /// One parcel; empty where there is none.
  TreeParcel take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (parcels_.empty()) return {};
    TreeParcel parcel = std::move(parcels_.front());
    parcels_.pop_front();
    return parcel;
  }

 private:
  static constexpr std::size_t kMostParcels = 32;  // 75 MiB
  const u32 most_optional_;
  std::mutex mutex_;
  std::deque<TreeParcel> parcels_;
};

/// One worker's end of the queue.
class TreeGiver {
 public:
  TreeGiver() = default;
  explicit TreeGiver(TreeQueue* queue) : queue_(queue) {}

  /// `masks` are those of the first side's n[0] candidates. False where this tree must be counted
  /// here.
  bool give(const u32* masks, const u32 n[2], const u32 held[2], const u32 optional[2]) {
    if (!queue_ || n[0] < kWorthGiving || n[1] < kWorthGiving) return false;
    for (u32 a : {0u, 1u})
      if (optional[a] + n[a] > queue_->most_optional()) return false;
    if (parcel_.size() == kParcelTrees * kTreeWords && !queue_->hand_over(parcel_)) return false;
    if (parcel_.empty()) parcel_.reserve(kParcelTrees * kTreeWords);
    const std::size_t at = parcel_.size();
    parcel_.resize(at + kTreeWords, 0);
    parcel_[at] = n[0] | n[1] << 8 | optional[0] << 16 | optional[1] << 24;
    parcel_[at + 1] = held[0];
    parcel_[at + 2] = held[1];
    std::copy(masks, masks + n[0], parcel_.data() + at + kTreeMasks);
    return true;
  }
  /// What is left at the end.
  TreeParcel take() { return std::move(parcel_); }

 private:
  static constexpr u32 kWorthGiving = 4;  // candidates a side
  static constexpr std::size_t kParcelTrees = std::size_t{1} << 14;
  TreeQueue* queue_ = nullptr;
  TreeParcel parcel_;
};

/// The sum of one (p,q).
class SingleSum {
 public:
  Total total;
  LargeTerms large;  // {n, k, m, l}: C(n, k) · C(m, l)

 protected:
  SingleSum(u32 p, u32 q) : size_{p, q} {}
  /// Adds what a leaf comes to, or takes it away.
  void add(const Held& s, u128 value, i64 sign) {
    if (value == kTooLarge)
      large.add({s.optional[0], size_[0] - s.held[0], s.optional[1], size_[1] - s.held[1]}, sign);
    else if (sign > 0)
      total.add(value);
    else
      total.subtract(value);
  }
  u32 size_[2];
  Binomials choose_;
};

/// One (p,q), and nothing else.
class OneSize : public SingleSum {
 public:
  struct Part {
    void operator+=(Part) {}
    void operator-=(Part) {}
  };
  static constexpr bool kOfVertices = false, kGivesTrees = false;
  OneSize(u32 p, u32 q) : SingleSum(p, q) {}

  Part leaf(const Held& s) {
    add(s, value(s), 1);
    return {};
  }
  std::pair<Part, Part> difference(const Held& more, const Held& less) {
    add(more, value(more), 1);
    add(less, value(less), -1);
    return {};
  }
  void hold(u32, u32, Part) {}
  void make_optional(u32, u32, Part) {}
  void end_of_root() {}

 private:
  u128 value(const Held& s) {
    if (s.sure(0) < size_[0] || s.sure(1) < size_[1]) return 0;
    return checked_product(choose_(s.optional[0], size_[0] - s.held[0]), choose_(s.optional[1], size_[1] - s.held[1]));
  }
};

/// One (p,q), in all and of each vertex. No term of a vertex exceeds the count of all, which says
/// whether any of them wrapped.
class EachVertex : public SingleSum {
 public:
  struct Part {
    u128 all = 0, of_optional[2] = {0, 0};
    void operator+=(const Part& o) {
      all += o.all;
      for (u32 a : {0u, 1u}) of_optional[a] += o.of_optional[a];
    }
    void operator-=(const Part& o) {
      all -= o.all;
      for (u32 a : {0u, 1u}) of_optional[a] -= o.of_optional[a];
    }
  };
  static constexpr bool kOfVertices = true, kGivesTrees = false;
  EachVertex(u32 p, u32 q, u32 n_roots, u32 n_rows) : SingleSum(p, q) {
    of_vertex[0].assign(n_roots, 0);
    of_vertex[1].assign(n_rows, 0);
  }

  std::vector<u128> of_vertex[2];  // worth nothing where there are large terms
  Part leaf(const Held& s) {
    const Part part = value(s);
    add(s, part.all, 1);
    return part;
  }
  std::pair<Part, Part> difference(const Held& more, const Held& less) {
    const Part x = value(more), y = value(less);
    add(more, x.all, 1);
    add(less, y.all, -1);
    return {x, y};
  }
  void hold(u32 a, u32 id, const Part& part) { of_vertex[a][id] += part.all; }
  void make_optional(u32 a, u32 id, const Part& part) { of_vertex[a][id] += part.of_optional[a]; }
  void end_of_root() {}

 private:
  /// With one optional vertex of side a prescribed, one less is left to choose from, and to choose.
  u128 ways(u32 a, const Held& s, u32 prescribed) {
    if (s.held[a] + prescribed > size_[a] || s.optional[a] < prescribed) return 0;
    return choose_(s.optional[a] - prescribed, size_[a] - s.held[a] - prescribed);
  }
  Part value(const Held& s) {
    const u128 left = ways(0, s, 0), right = ways(1, s, 0);
    if (left == 0 || right == 0) return {};
    return {checked_product(left, right), {checked_product(ways(0, s, 1), right), checked_product(left, ways(1, s, 1))}};
  }
};

/// All (p,q) up to a largest p and q. Small leaves are first added up by what they hold and have
/// optional on one side, as sums over the sizes of the other.
class AllSizes {
 public:
  using Part = OneSize::Part;
  static constexpr bool kOfVertices = false, kGivesTrees = true;
  /// Trees that are narrow enough go to `queue`, where there is one; what they come to is then not
  /// counted here.
  AllSizes(u32 most_p, u32 most_q, TreeQueue* queue = nullptr) : giver(queue), most_{most_p, most_q}, totals_((std::size_t{most_p} + 1) * (std::size_t{most_q} + 1)) {
    const std::size_t cells = (std::size_t{most_p} + 1) * (kSmall + 1) * width();
    if (cells <= kMostCells) small_.assign(cells, 0);
    for (u32 n = 0; n <= kSmall; ++n)
      for (u32 k = 0; k <= n; ++k) choose_small_[n][k] = static_cast<i64>(choose_(n, k));
  }

  TreeGiver giver;
  LargeTerms large;  // {held, optional, held, optional}: leaves with a count that does not fit in 128 bits
  Part leaf(const Held& s) {
    make_room();
    if (is_small(s)) {
      add_small(s, s.optional[1], 1);
    } else {
      add_large(s, 1);
    }
    return {};
  }
  std::pair<Part, Part> difference(const Held& more, const Held& less) {
    make_room();
    if (is_small(more)) {
      add_small(more, more.optional[1], 1);
      add_small(less, less.optional[1], -1);
    } else {
      add_large(more, 1);
      add_large(less, -1);
    }
    return {};
  }
  void hold(u32, u32, Part) {}
  void make_optional(u32, u32, Part) {}
  void end_of_root() {}
  /// The count of (p,q); exact once `flush` was called.
  const Total& of(u32 p, u32 q) const { return totals_[static_cast<std::size_t>(p) * width() + q]; }

  void flush() {
    leaves_ = 0;
    if (small_.empty()) return;
    for (u32 held = 0; held <= most_[0]; ++held) {
      for (u32 k = 0; k <= kSmall && held + k <= most_[0]; ++k)
        for (u32 q = 0; q <= most_[1]; ++q) at(held + k, q).add(small_sum(held, k, q));
      std::fill(small_at(held, 0), small_at(held + 1, 0), i64{0});
    }
  }

 private:
  static constexpr u32 kSmall = 32;                      // optional vertices of a small leaf: C(32, 16) < 2^30
  static constexpr u64 kMostLeaves = u64{1} << 32;       // between two flushes: sums below 2^62
  static constexpr std::size_t kMostCells = std::size_t{1} << 24;

  std::size_t width() const { return static_cast<std::size_t>(most_[1]) + 1; }
  Total& at(u32 p, u32 q) { return totals_[static_cast<std::size_t>(p) * width() + q]; }
  i64* small_at(u32 held, u32 n) { return small_.data() + (static_cast<std::size_t>(held) * (kSmall + 1) + n) * width(); }
  bool is_small(const Held& s) const { return s.optional[0] <= kSmall && s.optional[1] <= kSmall && !small_.empty(); }

  /// Before a leaf, or both of a difference, is added.
  void make_room() {
    if (leaves_ > kMostLeaves) flush();
  }
  /// Single cells may be negative, after a difference of two leaves; what they come to for one size
  /// is not.
  u128 small_sum(u32 held, u32 k, u32 q) {
    __int128 sum = 0;
    for (u32 n = k; n <= kSmall; ++n) sum += static_cast<__int128>(small_at(held, n)[q]) * choose_small_[n][k];
    return static_cast<u128>(sum);
  }
  void add_small(const Held& s, u32 optional, i64 sign) {
    ++leaves_;
    i64* to = small_at(s.held[0], s.optional[0]) + s.held[1];
    const u32 n = std::min(optional, most_[1] - s.held[1]);
    for (u32 k = 0; k <= n; ++k) to[k] += sign * choose_small_[optional][k];
  }
  void add_large(const Held& s, i64 sign) {
    const u32 n[2] = {s.optional[0], s.optional[1]}, most[2] = {std::min(n[0], most_[0] - s.held[0]), std::min(n[1], most_[1] - s.held[1])};
    if (checked_product(choose_(n[0], std::min(n[0] / 2, most[0])), choose_(n[1], std::min(n[1] / 2, most[1]))) == kTooLarge)
      return large.add({s.held[0], n[0], s.held[1], n[1]}, sign);
    for (u32 i = 0; i <= most[0]; ++i)
      for (u32 k = 0; k <= most[1]; ++k) {
        const u128 x = choose_(n[0], i) * choose_(n[1], k);
        Total& to = at(s.held[0] + i, s.held[1] + k);
        if (sign > 0)
          to.add(x);
        else
          to.subtract(x);
      }
  }
  u32 most_[2];
  std::vector<Total> totals_;
  std::vector<i64> small_;
  i64 choose_small_[kSmall + 1][kSmall + 1] = {};
  Binomials choose_;
  u64 leaves_ = 0;
};

}  // namespace bicliq
