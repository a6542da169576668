// row_group.hpp: bicliques as a row group of a Parquet file, laid out straight from a batch.
//
// What is written: columns without a null: the lists `left` and `right`, or of each biclique the
// smaller one alone, then `n_left`, `n_right` and `root`, then what it is worth by the objectives
// that are asked for. A general writer finds out for each id what is known here: no list is empty,
// so the definition levels of a page are one run, and its repetition levels are a bit an id, 0
// where a list begins.
//
// Ids, sizes and roots are written as places in a dictionary of those that the column has
// (dictionary.hpp), where it has enough of them to outweigh it, and plain otherwise. A place takes
// 8 or 16 bits, so that a codec finds in bytes what it would find in 32 bits (docs/methods.md), and
// without a codec as few bits as there have to be. Roots come in runs, and are written so.
//
// A search writes places to begin with (search/batch.hpp), and hands them over in pieces,
// whose pages are made while a core still has them at hand. Of lists of ids, which come all at
// once, the places are found here.
//
// Cost: a pass over the places, two more over ids, the codec, and a copy of what it made. Memory:
// the row group twice, a page, and what a dictionary takes.
//
// Reference: Apache Parquet format, parquet.thrift and Encodings.md (RLE, bit-packing hybrid).
#pragma once

#include "lanes/errors.hpp"
#include "output/codec.hpp"
#include "output/dictionary.hpp"
#include "output/objective_columns.hpp"
#include "output/page_header.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace bicliq {

/// Sizes that occur, ascending, with the number of bicliques of each.
inline std::vector<std::pair<i32, u64>> count_sizes(const i32* sizes, std::size_t n) {
  std::vector<u32> counts;
  for (std::size_t i = 0; i < n; ++i) {
    const auto size = static_cast<std::size_t>(sizes[i]);
    if (size >= counts.size()) counts.resize(size + 1 + counts.size());  // never twice the ids that there are
    ++counts[size];
  }
  std::vector<std::pair<i32, u64>> found;
  for (std::size_t size = 0; size < counts.size(); ++size)
    if (counts[size]) found.emplace_back(static_cast<i32>(size), counts[size]);
  return found;
}

/// The sizes of the sides of the biclique with most edges; of several, of the one with most left
/// vertices.
inline std::pair<i32, i32> largest_of(const i32* n_left, const i32* n_right, std::size_t n) {
  std::pair<i32, i32> largest{0, 0};
  i64 most = -1;
  for (std::size_t i = 0; i < n; ++i) {
    const i32 l = n_left[i], r = n_right[i];
    const i64 edges = i64{l} * r;
    if (edges < most || (edges == most && l <= largest.first)) continue;
    most = edges;
    largest = {l, r};
  }
  return largest;
}

/// What the footer says of a column of a row group; places count from the row group's first byte.
struct ColumnChunk {
  u64 begin = 0, data = 0, end = 0;  // the dictionary, if there is one, lies between begin and data
  u64 n_values = 0, uncompressed = 0;
  u32 n_pages = 0;
  std::string least, most;  // of a column of numbers: its smallest and largest value, as bytes
};

/// How large the bicliques of a row group are.
struct GroupSizes {
  std::vector<std::pair<i32, u64>> left, right;  // a size, and how many have it
  std::pair<i32, i32> largest;                   // sides of the one with most edges
};

/// Which side of a biclique is the smaller one; of equal ones, the left.
inline bool left_is_smaller(i32 n_left, i32 n_right) { return n_left <= n_right; }

/// The smaller side of each biclique.
class SmallerSides {
 public:
  SmallerSides(const ListColumn& left, const ListColumn& right, std::size_t n) {
    offsets_.reserve(n + 1);
    offsets_.push_back(0);
    for (std::size_t i = 0; i < n; ++i) {
      const ListColumn& side = left_is_smaller(left.length(i), right.length(i)) ? left : right;
      ids_.insert(ids_.end(), side.ids + side.offsets[i], side.ids + side.offsets[i + 1]);
      offsets_.push_back(static_cast<i32>(ids_.size()));  // never above the ids of the left side
    }
  }
  ListColumn column() const { return {offsets_.data(), ids_.data()}; }

 private:
  std::vector<i32> offsets_, ids_;
};

/// Bicliques as they are laid out.
struct GroupRows {
  std::size_t n;
  const i32 *n_left, *n_right, *root;
  std::vector<ListColumn> lists;  // a column each: the left and the right sides, or the smaller ones
  std::vector<ListColumn> sides;  // left and right, where they are at hand: surprise takes both
};


struct RowGroup {
  std::size_t n_rows = 0;
  Bytes bytes;
  std::vector<ColumnChunk> columns;
  GroupSizes sizes;
};

/// The pages of a list column, until its dictionary is known.
struct ListPages {
  Bytes bytes;
  u64 n_values = 0, uncompressed = 0;
  u32 n_pages = 0;
  bool hold_places = false;
  std::vector<i32> entries;  // of the dictionary that these are places in
};

/// Makes one row group after another, with the same codec and in the same memory.
class RowGroupEncoder {
 public:
  /// `whole_bytes`: places take 8 or 16 bits, for a codec to find them in.
  RowGroupEncoder(const StoredObjectives& stored, bool whole_bytes, Compress compress)
      : stored_(stored), compress_(std::move(compress)), whole_bytes_(whole_bytes) {}

  /// Adds bicliques to the row group. Places keep their meaning until it is finished; lists of ids
  /// are added all at once.
  void add(const GroupRows& rows) {
    lists_.resize(rows.lists.size());
    for (std::size_t i = 0; i < lists_.size(); ++i) add_lists(rows.lists[i], rows.n, lists_[i]);
    n_left_.insert(n_left_.end(), rows.n_left, rows.n_left + rows.n);
    n_right_.insert(n_right_.end(), rows.n_right, rows.n_right + rows.n);
    root_.insert(root_.end(), rows.root, rows.root + rows.n);
    if (is_wanted(Objective::surprise)) add_surprise(rows);
  }
  /// What was added, as a row group. `bytes`: where it goes; empty, with room if some is at hand.
  RowGroup finish(Bytes bytes) {
    n_rows_ = root_.size();
    bytes_ = std::move(bytes);
    columns_.clear();
    for (const ListPages& pages : lists_) put_lists(pages);
    put_numbers();
    RowGroup made{n_rows_, std::move(bytes_), std::move(columns_),
                  {count_sizes(n_left_.data(), n_rows_), count_sizes(n_right_.data(), n_rows_), largest_of(n_left_.data(), n_right_.data(), n_rows_)}};
    clear();
    return made;
  }

 private:
  static constexpr std::size_t kPageValues = std::size_t{1} << 17;  // a page ends with the list that reaches this
  static constexpr u64 kDictionaryPays = 16;                        // values for each entry of a dictionary
  static constexpr u64 kRunsPay = 16;                               // values a run, on average
  static constexpr u32 kPlainWidth = 32;
  static constexpr std::size_t kMostPageBytes = 0x7fffffff;

  const StoredObjectives& stored_;
  const Compress compress_;
  const bool whole_bytes_;
  std::size_t n_rows_ = 0;
  Bytes bytes_, page_, packed_;
  Dictionary dictionary_;
  std::vector<ListPages> lists_;
  std::vector<i32> n_left_, n_right_, root_;
  std::vector<double> surprise_;
  std::vector<ColumnChunk> columns_;

  bool is_wanted(Objective objective) const {
    return std::find(stored_.wanted.begin(), stored_.wanted.end(), objective) != stored_.wanted.end();
  }
  void clear() {
    for (ListPages& pages : lists_) {
      pages.bytes.clear();
      pages.n_values = pages.uncompressed = pages.n_pages = 0;
      pages.entries.clear();
    }
    n_left_.clear();
    n_right_.clear();
    root_.clear();
    surprise_.clear();
  }
  void add_surprise(const GroupRows& rows) {
    if (rows.sides.size() != 2) throw std::invalid_argument("the surprise of a biclique takes both of its sides");
    const BatchValues values(rows.n_left, rows.n_right, rows.n);
    const std::vector<double> more = values.surprise(rows.sides[0], rows.sides[1], stored_);
    surprise_.insert(surprise_.end(), more.begin(), more.end());
  }
  void put_numbers() {
    for (const std::vector<i32>* numbers : {&n_left_, &n_right_, &root_}) put_repeated(numbers->data());
    const BatchValues values(n_left_.data(), n_right_.data(), n_rows_);
    for (const Objective objective : stored_.wanted) {
      if (objective == Objective::surprise)
        put_values(surprise_.data());
      else
        put_values(values.of_sizes(objective).data());
    }
  }

  void add_lists(const ListColumn& lists, std::size_t n, ListPages& to) {
    const auto same = [](auto number) { return number; };
    if (lists.places) {
      begin_lists(lists, n, *lists.entries, to);
      return add_pages(lists, lists.places, n, same, [of = lists.entries->data()](std::uint16_t place) { return of[place]; }, to);
    }
    begin_lists(lists, n, dictionary_.of(lists.ids + lists.offsets[0], static_cast<std::size_t>(lists.offsets[n] - lists.offsets[0])), to);
    add_pages(lists, lists.ids, n, dictionary_.places(), same, to);
  }
  /// Takes over the entries that are new; the first lists of a row group say whether they pay.
  void begin_lists(const ListColumn& lists, std::size_t n, const std::vector<i32>& entries, ListPages& to) const {
    if (!to.n_pages) to.hold_places = pays(entries, static_cast<u64>(lists.offsets[n] - lists.offsets[0]));
    if (to.hold_places) to.entries.insert(to.entries.end(), entries.begin() + static_cast<std::ptrdiff_t>(to.entries.size()), entries.end());
  }
  static bool pays(const std::vector<i32>& entries, u64 n_values) {
    return !entries.empty() && entries.size() <= Dictionary::kMost && n_values >= kDictionaryPays * entries.size();
  }
  u32 width_of(std::size_t n_entries) const {
    const u32 bits = bits_of_places(n_entries);
    return whole_bytes_ ? (bits + 7) / 8 * 8 : bits;
  }

  /// `place` and `id` tell them of what the lists hold: `held`, ids or places.
  template <class Number, class Place, class Id>
  void add_pages(const ListColumn& lists, const Number* held, std::size_t n_lists, Place place, Id id, ListPages& to) {
    const u32 width = to.hold_places ? width_of(to.entries.size()) : kPlainWidth;
    for (std::size_t from = 0; from < n_lists;) {
      const std::size_t end = end_of_page(lists, from, n_lists);
      const Number* numbers = held + lists.offsets[from];
      const std::size_t n = static_cast<std::size_t>(lists.offsets[end] - lists.offsets[from]);
      page_.clear();
      put_repetition_levels(lists.offsets, from, end, n);
      put_definition_levels(n);
      if (to.hold_places)
        put_places(numbers, n, width, place);
      else
        put_plain(numbers, n, id);
      to.uncompressed += put_page(to.bytes, PageType::kData, static_cast<u32>(n), encoding_of(width), Content::lists);
      to.n_values += n;
      ++to.n_pages;
      from = end;
    }
  }
  void put_lists(const ListPages& pages) {
    ColumnChunk& chunk = columns_.emplace_back();
    begin(chunk, pages.n_values);
    if (pages.hold_places) put_dictionary(chunk, pages.entries);
    bytes_.put(pages.bytes.data(), pages.bytes.size());
    chunk.uncompressed += pages.uncompressed;
    chunk.n_pages = pages.n_pages;
    chunk.end = bytes_.size();
  }
  /// The first list that is not in the page which begins with `from`.
  static std::size_t end_of_page(const ListColumn& lists, std::size_t from, std::size_t n_lists) {
    const i64 enough = i64{lists.offsets[from]} + static_cast<i64>(kPageValues);
    const i32* end = std::lower_bound(lists.offsets + from + 1, lists.offsets + n_lists, enough,
                                      [](i32 offset, i64 wanted) { return offset < wanted; });
    const i32 n = *end - lists.offsets[from];
    if (static_cast<std::size_t>(n) > kMostPageBytes / 5)
      throw CapacityError("a biclique has " + std::to_string(n) + " vertices on one side, more than a page of a Parquet file holds");
    return static_cast<std::size_t>(end - lists.offsets);
  }
  /// A bit an id: 0 where a list begins.
  void put_repetition_levels(const i32* offsets, std::size_t from, std::size_t to, std::size_t n) {
    const std::size_t groups = (n + 7) / 8, at = begin_levels();
    page_.put_varint(u64{groups} << 1 | 1);
    auto* bits = reinterpret_cast<unsigned char*>(page_.room(groups));
    std::memset(bits, 0xff, groups);
    for (std::size_t i = from; i < to; ++i) {
      if (offsets[i + 1] <= offsets[i]) throw std::runtime_error("a biclique has an empty side");
      const u32 place = static_cast<u32>(offsets[i] - offsets[from]);
      bits[place / 8] = static_cast<unsigned char>(bits[place / 8] & ~(1u << place % 8));
    }
    page_.add(groups);
    end_levels(at);
  }
  /// One run: nothing is null, nothing is empty.
  void put_definition_levels(std::size_t n) {
    const std::size_t at = begin_levels();
    page_.put_varint(u64{n} << 1);
    page_.put_byte(1);
    end_levels(at);
  }
  std::size_t begin_levels() {
    page_.put("\0\0\0", 4);
    return page_.size();
  }
  void end_levels(std::size_t at) {
    const u32 length = static_cast<u32>(page_.size() - at);
    std::memcpy(page_.data() + at - 4, &length, 4);
  }
  template <class Number, class Id>
  void put_plain(const Number* numbers, std::size_t n, Id id) {
    char* to = page_.room(n * sizeof(i32));
    for (std::size_t i = 0; i < n; ++i) {
      const i32 value = id(numbers[i]);
      std::memcpy(to + i * sizeof value, &value, sizeof value);
    }
    page_.add(n * sizeof(i32));
  }
  /// Places in the dictionary as one bit-packed run, whose groups of eight are filled up.
  template <class Number, class Place>
  void put_places(const Number* numbers, std::size_t n, u32 width, Place place) {
    const std::size_t groups = (n + 7) / 8;
    page_.put_byte(width);
    page_.put_varint(u64{groups} << 1 | 1);
    char* to = page_.room(groups * width + kPackSpare);
    if (width == 8)
      put_whole<std::uint8_t>(numbers, n, to, place);
    else if (width == 16)
      put_whole<std::uint16_t>(numbers, n, to, place);
    else
      pack(n, width, to, [numbers, place](std::size_t i) { return static_cast<u32>(place(numbers[i])); });
    page_.add(groups * width);
  }
  template <class Whole, class Number, class Place>
  void put_whole(const Number* numbers, std::size_t n, char* to, Place place) const {
    for (std::size_t i = 0; i < n; ++i) {
      const Whole whole = static_cast<Whole>(place(numbers[i]));
      std::memcpy(to + i * sizeof whole, &whole, sizeof whole);
    }
    std::memset(to + n * sizeof(Whole), 0, ((n + 7) / 8 * 8 - n) * sizeof(Whole));
  }
  /// The same, each of its runs a length and a place.
  void put_runs(const i32* values, std::size_t n, u32 width) {
    page_.put_byte(width);
    for (std::size_t i = 0, from = 0; i < n; from = i) {
      while (i < n && values[i] == values[from]) ++i;
      page_.put_varint(u64{i - from} << 1);
      const std::uint16_t place = dictionary_.places()(values[from]);
      page_.put(&place, (width + 7) / 8);
    }
  }
  void put_dictionary(ColumnChunk& chunk, const std::vector<i32>& entries) {
    page_.clear();
    page_.put(entries.data(), entries.size() * sizeof(i32));
    chunk.uncompressed += put_page(bytes_, PageType::kDictionary, static_cast<u32>(entries.size()), PageEncoding::kPlain, Content::numbers);
    chunk.data = bytes_.size();
  }
  /// Sizes and roots: few different ones, as a rule.
  void put_repeated(const i32* values) {
    ColumnChunk& chunk = begin_numbers(values);
    const std::vector<i32>& entries = dictionary_.of(values, n_rows_);
    const bool as_places = pays(entries, n_rows_);
    if (as_places) put_dictionary(chunk, entries);
    const u32 width = as_places ? width_of(entries.size()) : kPlainWidth;
    std::size_t runs = 1;
    for (std::size_t i = 1; i < n_rows_; ++i) runs += values[i] != values[i - 1];
    for (std::size_t from = 0; from < n_rows_; from += kPageValues) {
      const std::size_t n = std::min(kPageValues, n_rows_ - from);
      page_.clear();
      if (!as_places)
        page_.put(values + from, n * sizeof(i32));
      else if (runs * kRunsPay <= n_rows_)
        put_runs(values + from, n, width);
      else
        put_places(values + from, n, width, dictionary_.places());
      put_data_page(chunk, n, encoding_of(width), Content::numbers);
    }
    chunk.end = bytes_.size();
  }
  template <class T>
  void put_values(const T* values) {
    ColumnChunk& chunk = begin_numbers(values);
    for (std::size_t from = 0; from < n_rows_; from += kPageValues) {
      const std::size_t n = std::min(kPageValues, n_rows_ - from);
      page_.clear();
      page_.put(values + from, n * sizeof(T));
      put_data_page(chunk, n, PageEncoding::kPlain, Content::lists);  // values of eight bytes repeat as a whole
    }
    chunk.end = bytes_.size();
  }

  template <class T>
  ColumnChunk& begin_numbers(const T* values) {
    ColumnChunk& chunk = columns_.emplace_back();
    begin(chunk, n_rows_);
    const auto [least, most] = range_of(values, n_rows_);
    chunk.least.assign(reinterpret_cast<const char*>(&least), sizeof(T));
    chunk.most.assign(reinterpret_cast<const char*>(&most), sizeof(T));
    return chunk;
  }
  void begin(ColumnChunk& chunk, std::size_t n_values) {
    chunk.begin = chunk.data = bytes_.size();
    chunk.n_values = n_values;
  }
  static PageEncoding encoding_of(u32 width) { return width == kPlainWidth ? PageEncoding::kPlain : PageEncoding::kDictionary; }
  void put_data_page(ColumnChunk& chunk, std::size_t n, PageEncoding encoding, Content content) {
    ++chunk.n_pages;
    chunk.uncompressed += put_page(bytes_, PageType::kData, static_cast<u32>(n), encoding, content);
  }
  /// Compresses the page at hand, and appends it behind its header; returns the bytes of both, with
  /// the page as it was.
  u64 put_page(Bytes& to, PageType type, u32 n, PageEncoding encoding, Content content) {
    packed_.clear();
    compress_(page_, packed_, content);
    if (packed_.size() > kMostPageBytes) throw CapacityError("a page of a Parquet file is longer than 2^31 - 1 bytes");
    const std::size_t at = to.size();
    put_page_header(to, type, n, encoding, static_cast<u32>(page_.size()), static_cast<u32>(packed_.size()));
    const u64 size = to.size() - at + page_.size();
    to.put(packed_.data(), packed_.size());
    return size;
  }
};

}  // namespace bicliq
