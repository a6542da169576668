// page_header.hpp: what stands before each page of a Parquet file.
//
// Reference: Apache Parquet format, parquet.thrift (PageHeader).
#pragma once

#include "output/thrift.hpp"

namespace bicliq {

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
