// batch.hpp: bicliques on their way out of a search, in buffers that are used again and again.
//
// A fresh buffer costs more than what is written into it: the kernel clears its pages, and a vector
// that grows clears and copies them once more. So a batch that was read goes back to its pool.
#pragma once

#include "lanes/types.hpp"
#include "lanes/errors.hpp"
#include "lanes/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace bicliq {

// ---- What the lists of a batch hold for a vertex: its id, or its place among the
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

/// Lists side by side: of ids, or of places among `entries`, which take half the room. 32 spare
/// places follow, so that a group of lanes may write there.
class IdLists {
 public:
  std::vector<std::int32_t> entries;  // ids that the places stand for; told when the batch is handed over

  IdLists() : offsets_{0} {}
  std::size_t size() const { return size_; }
  bool holds_places() const { return width_ == sizeof(std::uint16_t); }
  const std::int32_t* ids() const { return at<std::int32_t>(0); }
  const std::uint16_t* places() const { return at<std::uint16_t>(0); }
  const std::vector<std::int32_t>& offsets() const { return offsets_; }
  /// Room for n more ids or places (and the spare ones), without counting them in.
  template <class T>
  T* room(std::size_t n) {
    reserve_bytes((size_ + n + kSpare) * sizeof(T), 2);
    return at<T>(size_);
  }
  void add(std::size_t n) { size_ += n; }
  void reserve(std::size_t n_lists, std::size_t n) {
    reserve_bytes(n * width_, 1);
    offsets_.reserve(n_lists + 1);
  }
  void end_list() {
    if (size_ > kMostIds)
      throw CapacityError("a batch of bicliques has more than 2^31 - 1 ids on one side; ask for smaller batches (batch_ids)");
    offsets_.push_back(static_cast<std::int32_t>(size_));
  }
  /// Says what the lists hold; they are empty.
  void hold(bool places) { width_ = places ? sizeof(std::uint16_t) : sizeof(std::int32_t); }
  void clear() {
    size_ = 0;
    offsets_.resize(1);
    entries.clear();
  }

 private:
  static constexpr std::size_t kSpare = 32;
  static constexpr std::size_t kMostIds = 0x7fffffff;  // what an offset of an Arrow list can say
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  template <class T>
  T* at(std::size_t i) const {
    return static_cast<T*>(data_.get()) + i;
  }
  /// Not by realloc, which copies what nobody wrote as well.
  void reserve_bytes(std::size_t n, std::size_t times) {
    if (n <= capacity_) return;
    std::unique_ptr<void, Free> data(std::malloc(times * n));
    if (!data) throw std::bad_alloc();
    if (size_) std::memcpy(data.get(), data_.get(), size_ * width_);
    data_ = std::move(data);
    capacity_ = times * n;
  }
  std::unique_ptr<void, Free> data_;
  std::size_t size_ = 0, width_ = sizeof(std::int32_t), capacity_ = 0;  // width and capacity in bytes
  std::vector<std::int32_t> offsets_;
};

/// Bicliques in the layout of two Arrow list columns.
struct Batch {
  IdLists left, right;
  std::vector<std::int32_t> root;
  std::size_t size() const { return root.size(); }
  /// Bicliques, and ids on either side.
  struct Size {
    std::size_t bicliques = 0, left = 0, right = 0;
    Size operator+(const Size& other) const { return {bicliques + other.bicliques, left + other.left, right + other.right}; }
  };
  Size held() const { return {size(), left.size(), right.size()}; }
  /// Makes room for what another batch holds, and a quarter more.
  void reserve(const Size& other) {
    const auto more = [](std::size_t n) { return n + n / 4; };
    left.reserve(more(other.bicliques), more(other.left));
    right.reserve(more(other.bicliques), more(other.right));
    root.reserve(more(other.bicliques));
  }
  void clear() {
    left.clear();
    right.clear();
    root.clear();
  }
};

/// Batches that were read, for the workers to fill again. Readers may outlive the search.
class BatchPool {
 public:
  explicit BatchPool(std::size_t most) : free_(most) {}
  std::unique_ptr<Batch> take() { return free_.take(std::make_unique<Batch>); }
  void give(std::unique_ptr<Batch> batch) {
    batch->clear();
    free_.give(std::move(batch));
  }

 private:
  Pool<Batch> free_;
};

}  // namespace bicliq
