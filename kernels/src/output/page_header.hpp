// page_header.hpp: what stands before each page of a Parquet file, a struct of Thrift's compact
// protocol.
//
// References: Apache Thrift, "Compact protocol encoding"; Apache Parquet format, parquet.thrift
// (PageHeader).
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

/// Writes a struct whose fields are numbers of 32 bits, or structs, to what takes bytes
/// (`put_byte`) and numbers of seven bits a byte (`put_varint`).
template <class To>
class ThriftStruct {
 public:
  explicit ThriftStruct(To& to) : to_(to) {}
  ThriftStruct& number(u32 field, u32 value) {
    head(field, 5);
    to_.put_varint(u64{value} << 1);  // zigzag
    return *this;
  }
  /// Begins a field that is a struct, which the caller writes and ends.
  ThriftStruct inner(u32 field) {
    head(field, 12);
    return ThriftStruct(to_);
  }
  void end() { to_.put_byte(0); }

 private:
  void head(u32 field, u32 kind) {
    to_.put_byte((field - last_) << 4 | kind);  // fields are numbered below 16, and come in order
    last_ = field;
  }
  To& to_;
  u32 last_ = 0;
};

/// As parquet.thrift numbers them.
enum class PageType : u32 { kData = 0, kDictionary = 2 };
enum class PageEncoding : u32 { kPlain = 0, kRle = 3, kDictionary = 8 };

/// Writes the header of a page of `n` values, which takes `size` bytes, or `packed` compressed.
template <class To>
void put_page_header(To& to, PageType type, u32 n, PageEncoding encoding, u32 size, u32 packed) {
  const u32 rle = static_cast<u32>(PageEncoding::kRle), of_values = static_cast<u32>(encoding);
  ThriftStruct<To> page(to);
  page.number(1, static_cast<u32>(type)).number(2, size).number(3, packed);
  if (type == PageType::kData)
    page.inner(5).number(1, n).number(2, of_values).number(3, rle).number(4, rle).end();
  else
    page.inner(7).number(1, n).number(2, of_values).end();
  page.end();
}

}  // namespace bicliq
