// memory.hpp: memory of one worker, taken and given back like a stack.
//
// Blocks are kept until the worker ends, so that a search allocates nothing after its first roots.
// Every piece is aligned to 64 bytes and followed by 32 spare words: a group of lanes may read or
// write a whole register at its last element.
#pragma once

#include "lanes/pieces.hpp"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace bicliq {

class Workspace {
 public:
  struct Mark {
    std::size_t block, used;
  };

  /// Is there room for so many more words? (A device has a fixed workspace a warp; here it grows.)
  bool fits(usize) const { return true; }

  u32* take(std::size_t words) {
    const std::size_t need = padded(words);
    while (block_ < blocks_.size() && used_ + need > blocks_[block_].words) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) grow(need);
    u32* piece = blocks_[block_].data.get() + used_;
    used_ += need;
    return piece;
  }
  Mark mark() const { return {block_, used_}; }
  void release(Mark m) {
    block_ = m.block;
    used_ = m.used;
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Block& b : blocks_) sum += b.words * sizeof(u32);
    return sum;
  }

 private:
  static constexpr std::size_t kBlockWords = std::size_t{1} << 18;  // 1 MiB
  struct Free {
    void operator()(u32* p) const { std::free(p); }
  };
  struct Block {
    std::unique_ptr<u32[], Free> data;
    std::size_t words;
  };
  void grow(std::size_t need) {
    const std::size_t words = need > kBlockWords ? need : kBlockWords;
    auto* data = static_cast<u32*>(std::aligned_alloc(64, words * sizeof(u32)));
    if (!data) throw std::bad_alloc();
    blocks_.push_back({std::unique_ptr<u32[], Free>(data), words});
    used_ = 0;
  }
  std::vector<Block> blocks_;
  std::size_t block_ = 0, used_ = 0;
};

// ---- What costs more to make than to use, given back by who used it.
//
// Fresh memory is the reason: the kernel clears each page of it, which can cost more than what is
// written there. Any thread may take and give.

template <class T>
class Pool {
 public:
  /// At most so many are kept.
  explicit Pool(std::size_t most) : most_(most) {}
  /// The one that was given last, or what `make` makes, a `std::unique_ptr<T>`.
  template <class Make>
  std::unique_ptr<T> take(Make make) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<T> one = std::move(free_.back());
        free_.pop_back();
        return one;
      }
    }
    return make();
  }
  void give(std::unique_ptr<T> one) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_.size() < most_) free_.push_back(std::move(one));
  }
  /// All that are kept; then none is.
  std::vector<std::unique_ptr<T>> empty() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(free_, {});
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace bicliq
