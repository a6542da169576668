// growing.hpp: arrays whose memory comes and moves by pages.
//
// A list of some vertices is written without asking for room at each; short lists are copied in
// place (a call of memmove takes longer). It grows by realloc, which copies what is smaller than
// 32 MB, into pages that are then written for the first time: until there it grows fourfold (pages
// that nobody writes cost nothing). Larger memory is moved by its pages, so that gigabytes grow
// without a copy of them, in which nobody would hear an interrupt.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace bicliq {

/// An array that is written at its end, in room that was asked for once.
template <class T>
class Growing {
  static_assert(std::is_trivially_copyable_v<T>, "it is moved as bytes");

 public:
  using value_type = T;
  std::size_t size() const { return size_; }
  const T* data() const { return data_.get(); }
  T* data() { return data_.get(); }
  std::size_t capacity() const { return capacity_; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  void reserve(std::size_t n) {
    if (n > capacity_) grow(n);
  }
  /// Where n more may be written; `add` then counts those that were.
  T* room(std::size_t n) {
    if (size_ + n > capacity_) grow((size_ < kMoved / sizeof(T) ? 4 : 2) * (size_ + n));
    return data_.get() + size_;
  }
  void add(std::size_t n) { size_ += n; }
  /// Forgets the first n; the others move there.
  void drop(std::size_t n) {
    size_ -= n;
    if (n && size_) std::memmove(data_.get(), data_.get() + n, size_ * sizeof(T));
  }
  void push(T value) {
    *room(1) = value;
    ++size_;
  }

 private:
  static constexpr std::size_t kMoved = std::size_t{32} << 20;

  void grow(std::size_t n) {
    T* data = static_cast<T*>(std::realloc(data_.get(), n * sizeof(T)));
    if (!data) throw std::bad_alloc();
    static_cast<void>(data_.release());
    data_.reset(data);
    capacity_ = n;
  }
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0, capacity_ = 0;
};

/// n numbers, zero at first, whose memory is taken where it is written.
template <class T>
class Zeros {
  static_assert(std::is_trivially_copyable_v<T>, "they come as bytes");

 public:
  explicit Zeros(std::size_t n) : data_(static_cast<T*>(std::calloc(std::max<std::size_t>(n, 1), sizeof(T)))) {
    if (!data_) throw std::bad_alloc();
  }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T[], Free> data_;
};

}  // namespace bicliq
