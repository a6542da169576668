// row_groups.cu: bicliques of a GPU as the pages of a Parquet file, laid out as row_group.hpp does.
//
// Steps, each a kernel or a call of the driver:
//   1. `mark_values` marks in a bitmap which numbers a column of a row group has; `count_marks`
//      counts them a word at a time, and the driver adds these counts up. So a number's place in
//      the dictionary is how many marks there are before its own.
//   2. The driver cuts columns into pages, which are known then to the byte.
//   3. `lay_pages` writes what is in them, a block each. Eight values are the unit of a thread: they
//      have a byte of repetition levels, and places of w bits fill w bytes.
//   4. The driver has them compressed (nvCOMP).
//   5. `frame_pages` writes their headers; `join_pages` puts all behind one another. What takes a
//      codec too long it stores as it is, in a frame of zstd.
//
// No thread waits for another one: so the tests run these kernels on a host as they are.
//
// Cost: O(values), and for each row group and column O(range of its numbers / 32). Memory: 8 bytes
// for 32 numbers of that range.
//
// Compiled by NVRTC with --device-as-default-execution-space; sm_75 and newer.
//
// References: Apache Parquet format, parquet.thrift and Encodings.md (RLE, bit-packing hybrid); RFC
// 8878 (zstd: frames, raw blocks).
#include "lanes/sorted_words.hpp"
#include "output/page_header.hpp"

namespace bicliq {

using Byte = unsigned char;

constexpr u32 kPlainWidth = 32;
constexpr u32 kHeaderBytes = 64;  // more than the header of any page takes
constexpr u32 kZstdMagic = 0xfd2fb528, kZstdSingleSegment = 0xa0;  // the latter with a size of four bytes
constexpr u32 kZstdBlock = 1u << 17;

/// A column of some row groups: lists where it has offsets.
struct PageColumn {
  const i32 *values, *offsets;
  const u32 *marks, *ends;  // of each row group `n_words` of bits; how many there are up to each, and before the first
  u64 n_words;
};

struct Page {
  u64 at, size;  // its bytes among those of all pages
  PageType type;
  u32 column, group, width;   // bits a value takes
  u32 first, n;               // values; of a dictionary only how many it has
  u32 first_row, end_row;
};

inline u32 varint_bytes(u64 x) {
  u32 n = 1;
  for (; x > 0x7f; x >>= 7) ++n;
  return n;
}

/// Writes bytes; where several threads go the same way, one of them alone.
class ByteWriter {
 public:
  ByteWriter(Byte* at, bool writes) : at_(at), writes_(writes) {}
  Byte* at() const { return at_; }
  void skip(u64 n) { at_ += n; }
  void put_byte(u32 byte) {
    if (writes_) *at_ = static_cast<Byte>(byte);
    ++at_;
  }
  void put_varint(u64 x) {
    for (; x > 0x7f; x >>= 7) put_byte(static_cast<u32>(x & 0x7f) | 0x80);
    put_byte(static_cast<u32>(x));
  }
  void put_length(u32 x) {
    for (u32 shift = 0; shift < 32; shift += 8) put_byte(x >> shift & 0xff);
  }

 private:
  Byte* at_;
  const bool writes_;
};

/// The numbers that a column of a row group has, ascending.
class Entries {
 public:
  Entries(const PageColumn& column, u32 group)
      : marks_(column.marks + group * column.n_words), ends_(column.ends + group * column.n_words),
        before_(ends_[-1]) {}
  u32 place(i32 value) const {
    const u32 word = static_cast<u32>(value) / 32;
    return ends_[word] - before_ - __popc(marks_[word] >> static_cast<u32>(value) % 32);
  }
  /// Writes those of a word.
  void put(u64 word, i32* entries) const {
    u32 marks = marks_[word];
    for (i32* to = entries + (ends_[word] - before_ - __popc(marks)); marks; marks &= marks - 1)
      *to++ = static_cast<i32>(word * 32) + __ffs(static_cast<i32>(marks)) - 1;
  }

 private:
  const u32 *const marks_, *const ends_;
  const u32 before_;
};

/// The first of the rows first … end - 1 whose list begins at `id` or later; `end` if none does.
inline u32 first_list(const i32* offsets, u32 first, u32 end, u32 id) {
  return first_where(first, end, [=](u32 list) { return static_cast<u32>(offsets[list]) >= id; });
}

/// Repetition levels of eight ids, a bit each: 0 where a list begins.
inline Byte level_bits(const i32* offsets, const Page& page, u32 id) {
  u32 bits = 0xff;
  for (u32 row = first_list(offsets, page.first_row, page.end_row, id); row < page.end_row; ++row) {
    const u32 from_id = static_cast<u32>(offsets[row]) - id;
    if (from_id >= 8) break;
    bits &= ~(1u << from_id);
  }
  return static_cast<Byte>(bits);
}

/// Values of up to eight ids from the i-th on, `width` bits each.
inline void put_eight(const i32* values, u32 i, u32 n, u32 width, const Entries& entries, Byte* to) {
  u64 waiting = 0;
  u32 n_waiting = 0;
  for (u32 k = i; k < i + 8; ++k) {
    if (k < n) waiting |= u64{width == kPlainWidth ? static_cast<u32>(values[k]) : entries.place(values[k])} << n_waiting;
    else if (width == kPlainWidth) return;
    for (n_waiting += width; n_waiting >= 8; n_waiting -= 8, waiting >>= 8) *to++ = static_cast<Byte>(waiting);
  }
}

inline void lay_dictionary(const PageColumn& column, const Page& page, Byte* to) {
  const Entries entries(column, page.group);
  for (u64 word = threadIdx.x; word < column.n_words; word += blockDim.x) entries.put(word, reinterpret_cast<i32*>(to));
}

inline void lay_data(const PageColumn& column, const Page& page, Byte* begin) {
  const u32 n_eights = (page.n + 7) / 8;
  const bool is_list = column.offsets != nullptr;
  ByteWriter to(begin, threadIdx.x == 0);
  Byte* levels = nullptr;
  if (is_list) {
    const u64 run = u64{n_eights} << 1 | 1;
    to.put_length(n_eights + varint_bytes(run));
    to.put_varint(run);
    levels = to.at();
    to.skip(n_eights);
    to.put_length(varint_bytes(u64{page.n} << 1) + 1);  // definition levels, one run: nothing is null or empty
    to.put_varint(u64{page.n} << 1);
    to.put_byte(1);
  }
  if (page.width != kPlainWidth) {
    to.put_byte(page.width);
    to.put_varint(u64{n_eights} << 1 | 1);
  }
  const Entries entries(column, page.group);
  for (u32 eight = threadIdx.x; eight < n_eights; eight += blockDim.x) {
    if (is_list) levels[eight] = level_bits(column.offsets, page, page.first + 8 * eight);
    put_eight(column.values + page.first, 8 * eight, page.n, page.width, entries, to.at() + u64{eight} * page.width);
  }
}

/// Writes bytes as a frame of zstd whose blocks are not compressed.
inline void put_stored(const Byte* bytes, u32 n, Byte* frame) {
  ByteWriter to(frame, threadIdx.x == 0);
  to.put_length(kZstdMagic);
  to.put_byte(kZstdSingleSegment);
  to.put_length(n);
  for (u32 begin = 0; begin < n; begin += kZstdBlock) {
    const bool is_last = n - begin <= kZstdBlock;
    const u32 n_block = is_last ? n - begin : kZstdBlock, header = n_block << 3 | is_last;
    for (u32 shift = 0; shift < 24; shift += 8) to.put_byte(header >> shift & 0xff);
    for (u32 i = threadIdx.x; i < n_block; i += blockDim.x) to.at()[i] = bytes[begin + i];
    to.skip(n_block);
  }
}

}  // namespace bicliq

/// Row group g, of the grid's row g, has the values from bounds[g] on.
extern "C" __global__ void mark_values(const bicliq::i32* values, const bicliq::u32* bounds, bicliq::u64 n_words, bicliq::u32* marks) {
  using namespace bicliq;
  u32* const own = marks + blockIdx.y * n_words;
  const u32 end = bounds[blockIdx.y + 1];
  for (u64 i = bounds[blockIdx.y] + u64{blockIdx.x} * blockDim.x + threadIdx.x; i < end; i += u64{gridDim.x} * blockDim.x) {
    const u32 value = static_cast<u32>(values[i]), bit = 1u << value % 32;
    if (!(__ldcg(&own[value / 32]) & bit)) atomicOr(&own[value / 32], bit);  // most are there already; L1 would not know
  }
}

/// Also notes the least and the largest number of each row group.
extern "C" __global__ void count_marks(const bicliq::u32* marks, bicliq::u64 n_words, bicliq::u64 n, bicliq::u32* counts,
                                       bicliq::i32* least, bicliq::i32* most) {
  using namespace bicliq;
  for (u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += u64{gridDim.x} * blockDim.x) {
    counts[i] = static_cast<u32>(__popc(marks[i]));
    if (!marks[i]) continue;
    const u64 group = i / n_words;
    const i32 first = static_cast<i32>(i % n_words * 32);
    atomicMin(&least[group], first + __ffs(static_cast<i32>(marks[i])) - 1);
    atomicMax(&most[group], first + 31 - __clz(static_cast<i32>(marks[i])));
  }
}

/// A block a page. No list is empty.
extern "C" __global__ void lay_pages(const bicliq::PageColumn* columns, const bicliq::Page* pages, unsigned char* content) {
  using namespace bicliq;
  const Page page = pages[blockIdx.x];
  const PageColumn column = columns[page.column];
  if (page.type == PageType::kDictionary)
    lay_dictionary(column, page, content + page.at);
  else
    lay_data(column, page, content + page.at);
}

/// A thread a page. `packed` says how many bytes it has, compressed; `lengths` will say how many
/// with its header.
extern "C" __global__ void frame_pages(const bicliq::Page* pages, bicliq::u64 n, const bicliq::u64* packed, unsigned char* headers,
                                       bicliq::u64* lengths) {
  using namespace bicliq;
  const u64 i = u64{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Page page = pages[i];
  const PageEncoding encoding =
      page.type == PageType::kDictionary || page.width == kPlainWidth ? PageEncoding::kPlain : PageEncoding::kDictionary;
  ByteWriter to(headers + i * kHeaderBytes, true);
  put_page_header(to, page.type, page.n, encoding, static_cast<u32>(page.size), static_cast<u32>(packed[i]));
  lengths[i] = static_cast<u64>(to.at() - (headers + i * kHeaderBytes)) + packed[i];
}

/// A block a page: header and bytes end at ends[page] of `joined`. `stored` says how many bytes a
/// page has that is not compressed, where the codec is zstd; 0 of others.
extern "C" __global__ void join_pages(const unsigned char* headers, const unsigned char* const* bytes, const bicliq::u64* packed,
                                      const bicliq::u64* stored, const bicliq::u64* lengths, const bicliq::u64* ends,
                                      unsigned char* joined) {
  using namespace bicliq;
  const u64 page = blockIdx.x, n_header = lengths[page] - packed[page];
  unsigned char* const to = joined + (ends[page] - lengths[page]);
  for (u64 i = threadIdx.x; i < n_header; i += blockDim.x) to[i] = headers[page * kHeaderBytes + i];
  if (stored[page]) return put_stored(bytes[page], static_cast<u32>(stored[page]), to + n_header);
  for (u64 i = threadIdx.x; i < packed[page]; i += blockDim.x) to[n_header + i] = bytes[page][i];
}
