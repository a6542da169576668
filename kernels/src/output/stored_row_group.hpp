// stored_row_group.hpp: row groups as row_group.hpp lays them out, read again.
//
// A general reader expects levels of any kind at each id; these pages have one kind. So their bits
// are looked at 64 at a time, and ids are looked up (docs/methods.md compares the two). What is
// laid out otherwise, or is damaged, is `ForeignPages`: a general reader then reads it, or says
// what is wrong with it. Nothing outside of the bytes that are given is read or written, whatever
// they hold.
//
// Cost: the codec, and a pass over the ids. Memory: a page.
//
// Reference: Apache Parquet format, parquet.thrift and Encodings.md (RLE, bit-packing hybrid).
#pragma once

#include "output/codec.hpp"
#include "output/dictionary.hpp"

#include <vector>

namespace bicliq {

/// Pages of another writer, or damaged ones.
struct ForeignPages {};

/// Where a column lies among the bytes that are read, as the footer of its file says.
struct StoredColumn {
  u64 begin, end;
  u64 n_values;
};

/// Reads structs of Thrift's compact protocol.
class ThriftReader {
 public:
  ThriftReader(const char* at, const char* end) : at_(at), end_(end) {}
  const char* at() const { return at_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  enum Kind : u32 { kTrue = 1, kFalse = 2, kI16 = 4, kI32 = 5, kI64 = 6, kBinary = 8, kStruct = 12 };

  u32 byte() {
    if (at_ == end_) throw ForeignPages();
    return static_cast<unsigned char>(*at_++);
  }
  u64 varint() {
    u64 value = 0;
    for (u32 shift = 0; shift < 64; shift += 7) {
      const u64 seven = byte();
      value |= (seven & 0x7f) << shift;
      if (!(seven & 0x80)) return value;
    }
    throw ForeignPages();
  }
  u64 number() {  // zigzag; nothing that is read here is negative
    const u64 value = varint();
    if (value & 1) throw ForeignPages();
    return value >> 1;
  }
  const char* take(u64 n) {
    if (n > left()) throw ForeignPages();
    const char* from = at_;
    at_ += n;
    return from;
  }
  /// Calls `read(field, kind)` for each field, which reads its value or skips it.
  template <class F>
  void each_field(F read) {
    u32 field = 0;
    for (u32 head = byte(); head; head = byte()) {
      if (head >> 4 == 0) throw ForeignPages();  // fields of a page header come in order
      field += head >> 4;
      read(field, head & 15);
    }
  }
  /// Ours hold a struct or two in each other; bytes may claim any number.
  void skip(u32 kind, u32 depth = 0) {
    if (depth > kDeepest) throw ForeignPages();
    if (kind == kTrue || kind == kFalse) return;
    if (kind >= kI16 && kind <= kI64)
      varint();
    else if (kind == kBinary)
      take(varint());
    else if (kind == kStruct)
      each_field([this, depth](u32, u32 inner) { skip(inner, depth + 1); });
    else
      throw ForeignPages();
  }

 private:
  static constexpr u32 kDeepest = 32;
  const char *at_, *end_;
};


/// Reads columns of one row group, page after page.
class StoredRowGroup {
 public:
  StoredRowGroup(const char* data, std::size_t size, Codec codec) : data_(data), size_(size), codec_(codec) {}

  /// Reads a column of `n` lists; `offsets` has room for n + 1, `ids` for the column's values.
  void lists(const StoredColumn& column, std::size_t n, i32* offsets, i32* ids) {
    std::size_t rows = 0;
    each_page(column, true, [&](const Page& page, u64 at) {
      ThriftReader in(page.data, page.data + page.size);
      rows += put_starts(level_bits(in, page.n_values), page.n_values, at, n - rows, offsets + rows);
      check_definition_levels(in, page.n_values);
      if (page.encoding == kPlain)
        std::copy_n(in.take(page.n_values * sizeof(i32)), page.n_values * sizeof(i32), reinterpret_cast<char*>(ids + at));
      else
        put_places(in, page.n_values, ids + at);
    });
    if (rows != n || (n && offsets[0] != 0)) throw ForeignPages();
    offsets[n] = static_cast<i32>(column.n_values);
  }
  /// Reads a column of numbers of so many bytes each, for which `values` has room.
  void numbers(const StoredColumn& column, std::size_t width, char* values) {
    each_page(column, false, [&](const Page& page, u64 at) {
      ThriftReader in(page.data, page.data + page.size);
      if (page.encoding == kPlain)
        std::copy_n(in.take(page.n_values * width), page.n_values * width, values + at * width);
      else if (width == sizeof(i32))
        put_places(in, page.n_values, reinterpret_cast<i32*>(values) + at);
      else
        throw ForeignPages();
    });
  }

 private:
  enum Encoding : u32 { kPlain = 0, kRle = 3, kDictionary = 8 };
  enum PageType : u32 { kDataPage = 0, kDictionaryPage = 2 };
  struct Page {
    const char* data;
    u64 size, n_values, encoding;
  };
  struct Header {
    u64 type = ~0ull, size = 0, packed = 0, n_values = 0, encoding = ~0ull, definition = ~0ull, repetition = ~0ull;
  };

  static Header header(ThriftReader& in) {
    Header page;
    in.each_field([&](u32 field, u32 kind) {
      u64* const own[] = {&page.type, &page.size, &page.packed};
      u64* const of_values[] = {&page.n_values, &page.encoding, &page.definition, &page.repetition};
      if (kind == ThriftReader::kI32 && field <= 3) {
        *own[field - 1] = in.number();
      } else if (kind == ThriftReader::kStruct && (field == 5 || field == 7)) {
        in.each_field([&](u32 inner, u32 inner_kind) {
          if (inner_kind == ThriftReader::kI32 && inner <= 4)
            *of_values[inner - 1] = in.number();
          else
            in.skip(inner_kind);
        });
      } else {
        in.skip(kind);
      }
    });
    return page;
  }
  /// Calls `read(page, at)` for each data page, whose first value is the column's value `at`.
  template <class F>
  void each_page(const StoredColumn& column, bool lists, F read) {
    if (column.begin > column.end || column.end > size_ || column.n_values > 0x7fffffff) throw ForeignPages();
    ThriftReader in(data_ + column.begin, data_ + column.end);
    entries_.clear();
    n_entries_ = 0;
    for (u64 at = 0; in.left();) {
      const Header head = header(in);
      const char* packed = in.take(head.packed);
      if (head.size > 0x7fffffff) throw ForeignPages();
      page_.clear();
      if (!decompress(codec_, packed, head.packed, page_.room(head.size), head.size)) throw ForeignPages();
      if (head.type == kDictionaryPage) {
        read_dictionary(head);
        continue;
      }
      const bool ours = head.type == kDataPage && (head.encoding == kPlain || head.encoding == kDictionary) &&
                        (!lists || (head.definition == kRle && head.repetition == kRle));
      if (!ours || head.n_values > column.n_values - at) throw ForeignPages();
      read(Page{page_.data(), head.size, head.n_values, head.encoding}, at);
      at += head.n_values;
      if (!in.left() && at != column.n_values) throw ForeignPages();
    }
  }
  /// Behind the entries there is room for all that places of 16 bits can name.
  void read_dictionary(const Header& head) {
    if (head.n_values > kMostEntries || head.size != head.n_values * sizeof(i32)) throw ForeignPages();
    n_entries_ = static_cast<u32>(head.n_values);
    entries_.resize(kMostEntries);
    std::copy_n(page_.data(), head.size, reinterpret_cast<char*>(entries_.data()));
  }
  /// The repetition levels, as one bit-packed run.
  static const char* level_bits(ThriftReader& in, u64 n) {
    u32 length;
    std::memcpy(&length, in.take(4), 4);
    const char* const begin = in.at();
    const u64 groups = (n + 7) / 8;
    if (in.varint() != (groups << 1 | 1)) throw ForeignPages();
    const char* bits = in.take(groups);
    if (in.at() != begin + length) throw ForeignPages();
    return bits;
  }
  /// Writes where lists begin, which is where a bit is 0; at most so many. Returns how many.
  static std::size_t put_starts(const char* bits, u64 n, u64 at, std::size_t most, i32* offsets) {
    std::size_t rows = 0;
    for (u64 first = 0; first < n; first += 64) {
      u64 word = 0;
      std::memcpy(&word, bits + first / 8, n - first >= 64 ? 8 : (n - first + 7) / 8);
      u64 starts = ~word;
      if (n - first < 64) starts &= (u64{1} << (n - first)) - 1;
      if (static_cast<std::size_t>(__builtin_popcountll(starts)) > most - rows) throw ForeignPages();
      for (; starts; starts &= starts - 1)
        offsets[rows++] = static_cast<i32>(at + first + static_cast<u64>(__builtin_ctzll(starts)));
    }
    return rows;
  }
  static void check_definition_levels(ThriftReader& in, u64 n) {
    u32 length;
    std::memcpy(&length, in.take(4), 4);
    const char* const begin = in.at();
    if (in.varint() != n << 1 || in.byte() != 1 || in.at() != begin + length) throw ForeignPages();
  }
  /// What the dictionary holds at each place: runs of the same one, and bit-packed ones.
  void put_places(ThriftReader& in, u64 n, i32* values) const {
    const u32 width = in.byte();
    if (!width || width > 16 || !n_entries_) throw ForeignPages();
    u32 most = 0;
    for (u64 at = 0; at < n;) {
      const u64 head = in.varint(), rest = n - at;
      if (head & 1) {
        const u64 groups = head >> 1, packed = std::min(rest, 8 * std::min(groups, rest));
        if (!groups || groups > (rest + 7) / 8) throw ForeignPages();
        most = std::max(most, look_up(in.take(groups * width), packed, width, values + at));
        at += packed;
      } else {
        u32 place = 0;
        std::memcpy(&place, in.take((width + 7) / 8), (width + 7) / 8);
        const u64 run = head >> 1;
        if (!run || run > rest || place >= n_entries_) throw ForeignPages();
        std::fill_n(values + at, run, entries_[place]);
        at += run;
      }
    }
    if (most >= n_entries_) throw ForeignPages();
  }
  /// Returns the largest place.
  u32 look_up(const char* from, u64 n, u32 width, i32* values) const {
    if (width == 8) return look_up_whole<std::uint8_t>(from, n, values);
    if (width == 16) return look_up_whole<std::uint16_t>(from, n, values);
    u32 most = 0;
    unpack(from, n, width, [&](std::size_t i, u32 place) {
      values[i] = entries_[place];
      most = place > most ? place : most;
    });
    return most;
  }
  template <class T>
  u32 look_up_whole(const char* from, u64 n, i32* values) const {
    u32 most = 0;
    for (u64 i = 0; i < n; ++i) {
      T place;
      std::memcpy(&place, from + i * sizeof(T), sizeof(T));
      values[i] = entries_[place];
      most = place > most ? place : most;
    }
    return most;
  }

  static constexpr u32 kMostEntries = 65536;
  const char* const data_;
  const std::size_t size_;
  const Codec codec_;
  Bytes page_;
  std::vector<i32> entries_;  // of the column's dictionary
  u32 n_entries_ = 0;
};

}  // namespace bicliq
