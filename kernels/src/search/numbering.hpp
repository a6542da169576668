// numbering.hpp: what the lists of a batch hold for a vertex: its id, or its place among the
// vertices of the batch.
//
// A file holds ids as places in a dictionary (output/row_group.hpp). To find these in a full batch
// takes two passes over all its ids, and one that looks each of them up. Here a vertex gets its
// place when a subtree or a leaf first needs it, so that lists are written as places to begin with.
//
// A place takes 16 bits. Of bicliques with more vertices than that tells apart, lists hold ids.
//
// Cost: a look-up for each vertex of a subtree, not for each id of a list. Memory: with places, 4
// bytes a vertex of the side and thread; so where there are many vertices, lists hold ids.
#pragma once

#include "lanes/types.hpp"

#include <algorithm>
#include <vector>

namespace bicliq {

constexpr std::size_t kMostPlaced = 1 << 22;  // vertices of both sides: 16 MiB a thread

class Numbering {
 public:
  Numbering(const std::vector<i32>& ids, bool places) : ids_(ids), place_(places ? ids.size() : 0, kNone) { begin(); }
  Numbering(const Numbering&) = delete;
  Numbering& operator=(const Numbering&) = delete;

  bool gives_places() const { return number_ != ids_.data(); }
  /// Can `n` more vertices be numbered?
  bool has_room(std::size_t n) const { return placed_.size() + n <= most_; }

  i32 operator()(u32 vertex) {
    const i32 number = number_[vertex];
    return number == kNone ? add(vertex) : number;
  }
  /// The numbers of `n` vertices; most have one already.
  template <class T>
  void put(const u32* vertices, std::size_t n, T* __restrict__ to) {
    const i32* const number = number_;
    i32 least = 0;
    for (std::size_t i = 0; i < n; ++i) {
      to[i] = static_cast<T>(number[vertices[i]]);
      least = std::min(least, number[vertices[i]]);
    }
    if (least == kNone)
      for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<T>((*this)(vertices[i]));
  }
  /// Says which ids the places stand for.
  void tell(std::vector<i32>& entries) const {
    entries.clear();
    for (const u32 vertex : placed_) entries.push_back(ids_[vertex]);
  }
  /// Forgets all places; what comes is numbered anew.
  void clear() {
    for (const u32 vertex : placed_) place_[vertex] = kNone;
    placed_.clear();
    begin();
  }
  /// What comes until then is numbered by its ids; there are no places yet.
  void give_ids() {
    number_ = ids_.data();
    most_ = kAny;
  }

 private:
  static constexpr i32 kNone = -1;  // no id is negative
  static constexpr std::size_t kMostPlaces = 1 << 16, kAny = std::size_t{1} << 60;

  void begin() {
    number_ = place_.data();
    most_ = kMostPlaces;
    if (place_.empty()) give_ids();
  }
  i32 add(u32 vertex) {
    place_[vertex] = static_cast<i32>(placed_.size());
    placed_.push_back(vertex);
    return place_[vertex];
  }

  const std::vector<i32>& ids_;
  std::vector<i32> place_;
  std::vector<u32> placed_;  // vertices, in the order of their places
  const i32* number_;
  std::size_t most_;  // vertices that can be numbered
};

}  // namespace bicliq
