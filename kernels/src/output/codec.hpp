// codec.hpp: how pages are compressed, by the zstd or LZ4 of the system or by what a caller gives,
// and read again.
//
// The libraries are opened when they are first asked for (nearly every Linux has them: package
// managers need them), so the extension is built and loaded without them. Their functions below
// have not changed since their first stable versions.
#pragma once

#include "lanes/types.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace bicliq {

// ---- A growing buffer that is never cleared.

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

/// As parquet.thrift numbers them.
enum class Codec : u32 { none = 0, zstd = 6, lz4_raw = 7 };

/// What a page holds: lists, which repeat parts of each other; or numbers (sizes, roots, entries of
/// a dictionary), of which zstd packs as much by how often each byte occurs, three times as fast.
enum class Content { lists, numbers };

/// Appends the compressed bytes of a page to a buffer.
using Compress = std::function<void(const Bytes& from, Bytes& to, Content content)>;

template <class F>
F* function_of(void* library, const char* name) {
  return library ? reinterpret_cast<F*>(dlsym(library, name)) : nullptr;
}

/// zstd. Level 1 is told what pages of ids are like: repetitions are short and near, so a small
/// table of 2^11 places, which a core keeps at hand, finds them sooner (docs/methods.md).
struct Zstd {
  struct Context;
  std::size_t (*bound)(std::size_t);
  std::size_t (*compress)(Context*, void*, std::size_t, const void*, std::size_t);
  std::size_t (*decompress)(void*, std::size_t, const void*, std::size_t);
  unsigned (*is_error)(std::size_t);
  Context* (*create)();
  std::size_t (*free)(Context*);
  std::size_t (*set)(Context*, int, int);
  explicit operator bool() const { return bound && compress && decompress && is_error && create && free && set; }

  static const Zstd& library() {
    static const Zstd zstd = open();
    return zstd;
  }
  std::shared_ptr<Context> context(int level, Content content) const {
    std::shared_ptr<Context> made(create(), [this](Context* c) { free(c); });
    if (!made) throw std::bad_alloc();
    set(made.get(), kLevel, level);
    if (level == 1) {
      set(made.get(), kStrategy, kFast);
      set(made.get(), kHashLog, 11);
      set(made.get(), kMinMatch, 6);
      // Long steps would leave bytes as they are: only where zstd lets us say that it packs them.
      if (content == Content::numbers && !is_error(set(made.get(), kLiterals, kPacked))) set(made.get(), kSteps, kLongest);
    }
    return made;
  }
  void operator()(Context* context, const Bytes& from, Bytes& to) const {
    const std::size_t room = bound(from.size());
    const std::size_t n = compress(context, to.room(room), room, from.data(), from.size());
    if (is_error(n)) throw std::runtime_error("zstd could not compress a page of " + std::to_string(from.size()) + " bytes");
    to.add(n);
  }

 private:
  enum Parameter : int { kLevel = 100, kHashLog = 102, kMinMatch = 105, kSteps = 106, kStrategy = 107, kLiterals = 1002 };  // as zstd.h numbers them
  enum Value : int { kFast = 1, kPacked = 1, kLongest = 1 << 17 };
  static Zstd open() {
    void* library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return {function_of<std::size_t(std::size_t)>(library, "ZSTD_compressBound"),
            function_of<std::size_t(Context*, void*, std::size_t, const void*, std::size_t)>(library, "ZSTD_compress2"),
            function_of<std::size_t(void*, std::size_t, const void*, std::size_t)>(library, "ZSTD_decompress"),
            function_of<unsigned(std::size_t)>(library, "ZSTD_isError"),
            function_of<Context*()>(library, "ZSTD_createCCtx"),
            function_of<std::size_t(Context*)>(library, "ZSTD_freeCCtx"),
            function_of<std::size_t(Context*, int, int)>(library, "ZSTD_CCtx_setParameter")};
  }
};

struct Lz4 {
  int (*bound)(int);
  int (*compress)(const char*, char*, int, int);
  int (*decompress)(const char*, char*, int, int);
  explicit operator bool() const { return bound && compress && decompress; }

  static const Lz4& library() {
    static const Lz4 lz4 = open();
    return lz4;
  }
  void operator()(const Bytes& from, Bytes& to) const {
    const int size = static_cast<int>(from.size()), room = from.size() > kMost ? 0 : bound(size);
    const int n = room ? compress(from.data(), to.room(static_cast<std::size_t>(room)), size, room) : 0;
    if (n <= 0) throw std::runtime_error("LZ4 could not compress a page of " + std::to_string(from.size()) + " bytes");
    to.add(static_cast<std::size_t>(n));
  }

 private:
  static constexpr std::size_t kMost = 0x7e000000;  // bytes that LZ4 takes at once
  static Lz4 open() {
    void* library = dlopen("liblz4.so.1", RTLD_NOW | RTLD_LOCAL);
    return {function_of<int(int)>(library, "LZ4_compressBound"),
            function_of<int(const char*, char*, int, int)>(library, "LZ4_compress_default"),
            function_of<int(const char*, char*, int, int)>(library, "LZ4_decompress_safe")};
  }
};

/// Has this machine the codec's library?
inline bool has_library(Codec codec) {
  return codec == Codec::none || (codec == Codec::zstd ? bool(Zstd::library()) : bool(Lz4::library()));
}

inline void check_library(Codec codec) {
  if (codec != Codec::none && codec != Codec::zstd && codec != Codec::lz4_raw)
    throw std::invalid_argument("no codec has the number " + std::to_string(static_cast<u32>(codec)));
  if (!has_library(codec))
    throw std::runtime_error(std::string("this machine has no library for ") + (codec == Codec::zstd ? "zstd" : "lz4_raw"));
}

/// The codec's own library.
inline Compress library_of(Codec codec, int level) {
  check_library(codec);
  if (codec == Codec::zstd) {
    const Zstd& zstd = Zstd::library();
    return [&zstd, lists = zstd.context(level, Content::lists), numbers = zstd.context(level, Content::numbers)](
               const Bytes& from, Bytes& to, Content content) { zstd((content == Content::lists ? lists : numbers).get(), from, to); };
  }
  if (codec == Codec::lz4_raw) return [](const Bytes& from, Bytes& to, Content) { Lz4::library()(from, to); };
  return [](const Bytes& from, Bytes& to, Content) { to.put(from.data(), from.size()); };
}

/// Fills `to` with exactly `n` bytes of a page; false where the page does not hold them.
inline bool decompress(Codec codec, const char* from, std::size_t size, char* to, std::size_t n) {
  if (codec == Codec::zstd) return Zstd::library().decompress(to, n, from, size) == n;  // an error is a huge number
  if (codec == Codec::lz4_raw && size <= 0x7fffffff && n <= 0x7fffffff)
    return Lz4::library().decompress(from, to, static_cast<int>(size), static_cast<int>(n)) == static_cast<int>(n);
  if (codec != Codec::none || size != n) return false;
  std::copy_n(from, n, to);  // of no bytes, either may be null, which memcpy does not allow
  return true;
}

}  // namespace bicliq
