// bytes.hpp: a growing buffer that is never cleared.
#pragma once

#include "lanes/types.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace bicliq {

class Bytes {
 public:
  Bytes() = default;
  Bytes(Bytes&& other) noexcept { *this = std::move(other); }
  Bytes& operator=(Bytes&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }
  std::size_t size() const { return size_; }
  char* data() { return data_.get(); }
  const char* data() const { return data_.get(); }
  /// Room for n more bytes, without counting them in.
  char* room(std::size_t n) {
    if (size_ + n > capacity_) grow(2 * (size_ + n));
    return data_.get() + size_;
  }
  void add(std::size_t n) { size_ += n; }
  void clear() { size_ = 0; }
  void put(const void* from, std::size_t n) {
    std::copy_n(static_cast<const char*>(from), n, room(n));
    size_ += n;
  }
  void put_byte(u32 byte) {
    *room(1) = static_cast<char>(byte);
    ++size_;
  }
  /// A number of seven bits a byte, the lowest first.
  void put_varint(u64 x) {
    for (; x > 0x7f; x >>= 7) put_byte(static_cast<u32>(x & 0x7f) | 0x80);
    put_byte(static_cast<u32>(x));
  }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  /// Not by realloc, which copies what nobody wrote as well.
  void grow(std::size_t n) {
    auto* data = static_cast<char*>(std::malloc(n));
    if (!data) throw std::bad_alloc();
    std::copy_n(data_.get(), size_, data);
    data_.reset(data);
    capacity_ = n;
  }
  std::unique_ptr<char[], Free> data_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace bicliq
