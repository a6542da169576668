// batch.hpp: bicliques on their way out of a search, in buffers that are used again and again.
//
// A fresh buffer costs more than what is written into it: the kernel clears its pages, and a vector
// that grows clears and copies them once more. So a batch that was read goes back to its pool.
#pragma once

#include "lanes/errors.hpp"
#include "lanes/pool.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace bicliq {

/// Lists of ids side by side. 32 spare places follow, so that a group of lanes may write there.
class IdLists {
 public:
  /// Where there are any, the lists hold places among these ids (numbering.hpp).
  std::vector<std::int32_t> entries;

  IdLists() : offsets_{0} {}
  std::size_t size() const { return size_; }
  const std::int32_t* data() const { return data_.get(); }
  const std::vector<std::int32_t>& offsets() const { return offsets_; }
  /// Room for n more ids (and the spare ones), without counting them in.
  std::int32_t* room(std::size_t n) {
    if (size_ + n + kSpare > capacity_) grow(2 * (size_ + n + kSpare));
    return data_.get() + size_;
  }
  void add(std::size_t n) { size_ += n; }
  void reserve(std::size_t n_lists, std::size_t n) {
    if (n > capacity_) grow(n);
    offsets_.reserve(n_lists + 1);
  }
  void end_list() {
    if (size_ > kMostIds)
      throw CapacityError("a batch of bicliques has more than 2^31 - 1 ids on one side; ask for smaller batches (batch_ids)");
    offsets_.push_back(static_cast<std::int32_t>(size_));
  }
  void clear() {
    size_ = 0;
    offsets_.resize(1);
    entries.clear();
  }

 private:
  static constexpr std::size_t kSpare = 32;
  static constexpr std::size_t kMostIds = 0x7fffffff;  // what an offset of an Arrow list can say
  struct Free {
    void operator()(std::int32_t* p) const { std::free(p); }
  };
  /// Not by realloc, which copies what nobody wrote as well.
  void grow(std::size_t n) {
    auto* data = static_cast<std::int32_t*>(std::malloc(n * sizeof(std::int32_t)));
    if (!data) throw std::bad_alloc();
    std::copy_n(data_.get(), size_, data);
    data_.reset(data);
    capacity_ = n;
  }
  std::unique_ptr<std::int32_t[], Free> data_;
  std::size_t size_ = 0, capacity_ = 0;
  std::vector<std::int32_t> offsets_;
};

/// Bicliques in the layout of two Arrow list columns.
struct Batch {
  IdLists left, right;
  std::vector<std::int32_t> root;
  std::size_t size() const { return root.size(); }
  /// Bicliques, and ids on either side.
  struct Size {
    std::size_t bicliques, left, right;
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
