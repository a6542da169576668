// found_changes.hpp: what appeared and what vanished, as threads find it side by side.
//
// What it holds: bicliques as lists. What appeared is counted at one change, so each thread keeps
// its own and hands it over. So it does with what vanished where nobody else can find it. All else
// that vanished is kept once: its hash says in which of some parts it is looked for, each with a
// lock of its own. (One lock for all, taken at the end of each thread's work, left 16 threads
// waiting for half of the time.)
#pragma once

#include "lanes/types.hpp"
#include "graphs/rows.hpp"
#include "lanes/growing.hpp"
#include "lanes/hash.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace bicliq {

/// Copies a short list, and returns where it ends.
inline std::int32_t* put_short(const std::int32_t* from, std::size_t n, std::int32_t* to) {
  const auto put = [&](auto width) {
    std::memcpy(to, from, width * sizeof(std::int32_t));
    from += width, to += width;
  };
  for (; n >= 8; n -= 8) put(std::integral_constant<std::size_t, 8>());
  if (n & 4) put(std::integral_constant<std::size_t, 4>());
  if (n & 2) put(std::integral_constant<std::size_t, 2>());
  if (n & 1) put(std::integral_constant<std::size_t, 1>());
  return to;
}

/// Two list columns: bicliques, or the two sides of something.
struct Lists {
  Growing<std::int64_t> left_offsets, right_offsets;
  Growing<std::int32_t> left, right;
  Lists() {
    left_offsets.push(0), right_offsets.push(0);
  }
  void add(Span l, Span r) {
    put(l, left), put(r, right);
    end_both();
  }
  void add_without_left(Span l, const std::int32_t* one, Span r) {
    put({l.first, one}, left), put({one + 1, l.last}, left), put(r, right);
    end_both();
  }
  void add_without_right(Span l, Span r, const std::int32_t* one) {
    put(l, left), put({r.first, one}, right), put({one + 1, r.last}, right);
    end_both();
  }
  /// Ends a biclique whose sides were written already.
  void end_both() {
    left_offsets.push(static_cast<std::int64_t>(left.size()));
    right_offsets.push(static_cast<std::int64_t>(right.size()));
  }
  void add(const Lists& some) {
    for (std::size_t i = 0; i < some.size(); ++i) add(some.left_of(i), some.right_of(i));
  }
  void reserve(std::size_t n, std::size_t n_left, std::size_t n_right) {
    left_offsets.reserve(n + 1), right_offsets.reserve(n + 1);
    left.reserve(n_left), right.reserve(n_right);
  }
  std::size_t size() const { return left_offsets.size() - 1; }
  Span left_of(std::size_t i) const { return {left.data() + left_offsets[i], left.data() + left_offsets[i + 1]}; }
  Span right_of(std::size_t i) const { return {right.data() + right_offsets[i], right.data() + right_offsets[i + 1]}; }

 private:
  static void put(Span list, Growing<std::int32_t>& to) {
    put_short(list.first, list.size(), to.room(list.size()));
    to.add(list.size());
  }
};

/// The hash that tells two bicliques apart, but for chance.
inline u64 hash_of(Span left, Span right) {
  u64 l = 0, r = 0;
  for (std::int32_t u : left) l += vertex_hash(static_cast<u64>(u), kLeftSeed);
  for (std::int32_t v : right) r += vertex_hash(static_cast<u64>(v), kRightSeed);
  return biclique_hash(l, r);
}

/// Lists without repetition, in the order in which they first came; found again by their hashes in
/// one array of places (a map that allocates each of them took a seventh of an update of gowalla).
class DistinctLists {
 public:
  /// `hash` is that of `hash_of`.
  void add(Span left, Span right, u64 hash) {
    if (2 * (hashes_.size() + 1) > places_.size()) grow();
    std::size_t at = hash & (places_.size() - 1);
    for (; places_[at] != 0; at = (at + 1) & (places_.size() - 1)) {
      const std::size_t i = places_[at] - 1;
      if (hashes_[i] == hash && same(found.left_of(i), left) && same(found.right_of(i), right)) return;
    }
    hashes_.push_back(hash);
    places_[at] = hashes_.size();
    found.add(left, right);
  }
  Lists found;

 private:
  void grow() {
    places_.assign(std::max<std::size_t>(4 * places_.size(), 64), 0);
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
      std::size_t at = hashes_[i] & (places_.size() - 1);
      while (places_[at] != 0) at = (at + 1) & (places_.size() - 1);
      places_[at] = i + 1;
    }
  }
  static bool same(Span a, Span b) { return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()); }
  std::vector<u64> hashes_;
  std::vector<std::size_t> places_;  // one more than the number of a list; 0: nothing is there
};

/// Adds to lists a biclique without one of its members, told by where that stands.
struct ListsWithout {
  Lists& to;
  template <class Biclique>
  void without_left(const Biclique& one, std::size_t member) {
    to.add_without_left(one.left, one.left.first + member, one.right);
  }
  template <class Biclique>
  void without_right(const Biclique& one, std::size_t member) {
    to.add_without_right(one.left, one.right, one.right.first + member);
  }
};

/// What threads find.
class FoundChanges {
 public:
  /// Takes what appeared, of no other thread.
  void appear(Lists&& some) {
    if (some.size() == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    appeared_.push_back(std::move(some));
  }
  /// `hash` is that of `hash_of`.
  void vanish(Span left, Span right, u64 hash) {
    Part& part = vanished_[hash >> (64 - kPartBits)];
    const std::lock_guard<std::mutex> lock(part.mutex);
    part.lists.add(left, right, hash);
  }
  /// Takes what vanished and nobody else finds.
  void vanish(Lists&& some) {
    if (some.size() == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    found_once_.push_back(std::move(some));
  }
  /// Those who find are to end soon.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  /// They are handed over, in parts.
  std::vector<Lists> take_appeared() { return std::exchange(appeared_, {}); }
  std::vector<Lists> take_vanished() {
    std::vector<Lists> found = std::exchange(found_once_, {});
    const bool few = !found.empty();
    for (Part& part : vanished_) {
      DistinctLists own = std::exchange(part.lists, {});
      if (own.found.size() == 0) continue;
      if (few)
        found[0].add(own.found);
      else
        found.push_back(std::move(own.found));
    }
    return found;
  }

 private:
  static constexpr unsigned kPartBits = 7;  // so many that two of 16 threads seldom meet
  struct Part {
    std::mutex mutex;
    DistinctLists lists;
  };
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::vector<Lists> appeared_, found_once_;
  std::array<Part, std::size_t{1} << kPartBits> vanished_;
};

}  // namespace bicliq
