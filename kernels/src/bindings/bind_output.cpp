// bind_output.cpp: row groups of bicliques made, read and checked, and sides restored, without
// Python's lock.
#include "bindings/row_groups.hpp"
#include "output/check_lists.hpp"
#include "output/restore_sides.hpp"
#include "output/stored_row_group.hpp"

namespace bicliq {
namespace {

nb::object encode(const Values& left_offsets, const Values& left, const Values& right_offsets, const Values& right,
                  const Values& root, const RowGroupMaker& layout) {
  const std::size_t n = root.size();
  check_lists(left_offsets, left, n);
  check_lists(right_offsets, right, n);
  return python_of(without_lock([&] { return layout({left_offsets.data(), left.data()}, {right_offsets.data(), right.data()}, root.data(), n); }));
}

void check_smaller(i32 n_given, i32 n_left, i32 n_right) {
  if (n_given != std::min(n_left, n_right))
    throw std::invalid_argument("the smaller side of a biclique has not as many vertices as is said beside it");
}
nb::object encode_smaller(const Values& offsets, const Values& ids, const Values& n_left, const Values& n_right,
                          const Values& root, const RowGroupMaker& layout) {
  const std::size_t n = root.size();
  check_lists(offsets, ids, n);
  if (n_left.size() != n || n_right.size() != n) throw std::invalid_argument("n_left, n_right and root differ in length");
  return python_of(without_lock([&] {
    for (std::size_t i = 0; i < n; ++i) check_smaller(offsets.data()[i + 1] - offsets.data()[i], n_left.data()[i], n_right.data()[i]);
    return layout({offsets.data(), ids.data()}, n_left.data(), n_right.data(), root.data(), n);
  }));
}

/// An array of numbers that nobody has cleared.
template <class T>
class Fresh {
 public:
  using value_type = T;
  explicit Fresh(std::size_t n) : values_(new T[n]), n_(n) {}
  T* data() { return values_.get(); }
  std::size_t size() const { return n_; }

 private:
  std::unique_ptr<T[]> values_;
  std::size_t n_;
};

/// Columns of a row group of `n` rows: of each list column its offsets and its ids, of each other
/// one its numbers, those of eight bytes as two of four. A column is where it lies, its number of
/// values, and the words of four bytes of each, 0 for lists. None where its pages are not laid out
/// as ours.
nb::object read_columns(const Input<std::uint8_t>& data, Codec codec, const std::vector<std::tuple<u64, u64, u64, u32>>& columns, std::size_t n) {
  check_library(codec);
  std::vector<Fresh<i32>> read;
  try {
    const nb::gil_scoped_release release;
    StoredRowGroup group(reinterpret_cast<const char*>(data.data()), data.size(), codec);
    for (const auto& [begin, end, n_values, words] : columns) {
      if (n > 0x7fffffff || n_values > 0x7fffffff || (words && n_values != n)) throw ForeignPages();
      const StoredColumn column{begin, end, n_values};
      if (words) {
        Fresh<i32>& values = read.emplace_back(words * n_values);
        group.numbers(column, words * sizeof(i32), reinterpret_cast<char*>(values.data()));
      } else {
        read.emplace_back(n + 1);
        read.emplace_back(n_values);
        group.lists(column, n, read[read.size() - 2].data(), read.back().data());
      }
    }
  } catch (const ForeignPages&) {
    return nb::none();
  }
  nb::list arrays;
  for (Fresh<i32>& values : read) arrays.append(numpy_of(std::move(values)));
  return arrays;
}

/// The surprise of each biclique of a batch, in nats.
nb::object surprise(const Values& left_offsets, const Values& left, const Values& right_offsets, const Values& right,
                    const SurpriseArrays& terms, double unit) {
  const std::size_t n = checked_batch(left_offsets, left, right_offsets, right);
  return numpy_of(without_lock([&] {
    const ListColumn lefts{left_offsets.data(), left.data()}, rights{right_offsets.data(), right.data()};
    const std::vector<i32> n_left = lefts.lengths(n), n_right = rights.lengths(n);
    return BatchValues(n_left.data(), n_right.data(), n).surprise(lefts, rights, objectives_of({}, terms, unit));
  }));
}

/// Restores sides of batches by a graph that it holds.
class Restorer {
 public:
  Restorer(const Wide& indptr, const Values& indices, u32 n_right)
      : sides_([&, rows = rows_of(indptr, indices)] { return std::make_unique<const SideRestorer>(rows, n_right, hear_interrupts); }) {}

  /// Both sides of bicliques whose smaller ones are given: offsets and ids of the left ones, then
  /// of the right ones.
  nb::object restore(const Values& offsets, const Values& ids, const Values& n_left, const Values& n_right) const {
    const std::size_t n = n_left.size();
    check_lists(offsets, ids, n);
    if (n_right.size() != n) throw std::invalid_argument("n_left and n_right differ in length");
    Fresh<i32> left_offsets(n + 1), right_offsets(n + 1);
    Fresh<i32> left(sum_up(n_left, left_offsets)), right(sum_up(n_right, right_offsets));
    without_lock([&] {
      SideRestorer::Room room;
      for (std::size_t i = 0; i < n; ++i) {
        const i32* given = ids.data() + offsets.data()[i];
        const i32 n_given = offsets.data()[i + 1] - offsets.data()[i];
        i32 *const to_left = left.data() + left_offsets.data()[i], *const to_right = right.data() + right_offsets.data()[i];
        const bool left_given = left_is_smaller(n_left.data()[i], n_right.data()[i]);
        check_smaller(n_given, n_left.data()[i], n_right.data()[i]);
        std::copy_n(given, n_given, left_given ? to_left : to_right);
        sides_->larger(left_given, given, static_cast<std::size_t>(n_given), left_given ? to_right : to_left,
                      static_cast<std::size_t>(std::max(n_left.data()[i], n_right.data()[i])), room);
      }
    });
    return nb::make_tuple(numpy_of(std::move(left_offsets)), numpy_of(std::move(left)), numpy_of(std::move(right_offsets)), numpy_of(std::move(right)));
  }

 private:
  /// Writes where each list begins and the last one ends, and returns that.
  static std::size_t sum_up(const Values& lengths, Fresh<i32>& offsets) {
    i64 sum = 0;
    offsets.data()[0] = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths.data()[i] < 0) throw std::invalid_argument("a biclique has fewer than no vertices");
      sum += lengths.data()[i];
      if (sum > 0x7fffffff) throw CapacityError("these bicliques have more than 2^31 - 1 ids on one side; restore fewer at a time");
      offsets.data()[i + 1] = static_cast<i32>(sum);
    }
    return static_cast<std::size_t>(sum);
  }
  const Apart<const SideRestorer> sides_;
};

using Hashes = std::optional<Input<u64>>;

LabelHashes hashes_of(const Values& offsets, const Values& ids, const Hashes& hashes, u64 seed) {
  const i32 first = offsets.data()[0], last = offsets.data()[offsets.size() - 1];
  return {ids.data() + first, static_cast<std::size_t>(last - first), hashes ? hashes->data() : nullptr, hashes ? hashes->size() : 0, seed};
}

/// The digest of a batch, and how many of its bicliques have a side that is not ascending.
nb::object check_batch(const Values& left_offsets, const Values& left, const Values& right_offsets,
                       const Values& right, const Hashes& left_hashes, const Hashes& right_hashes) {
  const std::size_t n = checked_batch(left_offsets, left, right_offsets, right);
  const ListCheck found = without_lock([&] {
    const LabelHashes of_left = hashes_of(left_offsets, left, left_hashes, kLeftSeed), of_right = hashes_of(right_offsets, right, right_hashes, kRightSeed);
    return check_lists({left_offsets.data(), left.data(), of_left}, {right_offsets.data(), right.data(), of_right}, n);
  });
  return nb::make_tuple(found.digest, found.n_unordered);
}

}  // namespace

void bind_output(nb::module_& module) {
  nb::enum_<Codec>(module, "Codec").value("none", Codec::none).value("zstd", Codec::zstd).value("lz4_raw", Codec::lz4_raw);
  nb::class_<RowGroupMaker, Taker>(module, "RowGroupMaker")
      .def(nb::init<bool, Codec, int, nb::object, const std::vector<Objective>&, std::optional<SurpriseArrays>, double>(), "smaller_only"_a, "codec"_a,
           "level"_a, "compress"_a.none(), "objectives"_a, "terms"_a.none(), "unit"_a);
  module.def("encode_bicliques", &encode, "left_offsets"_a, "left"_a, "right_offsets"_a, "right"_a, "root"_a, "layout"_a);
  module.def("encode_smaller", &encode_smaller, "offsets"_a, "smaller"_a, "n_left"_a, "n_right"_a, "root"_a, "layout"_a);
  module.def("surprise", &surprise, "left_offsets"_a, "left"_a, "right_offsets"_a, "right"_a, "terms"_a, "unit"_a);
  module.def("check_bicliques", &check_batch, "left_offsets"_a, "left"_a, "right_offsets"_a, "right"_a, "left_hashes"_a = nb::none(),
             "right_hashes"_a = nb::none());
  module.def("read_columns", &read_columns, "data"_a, "codec"_a, "columns"_a, "rows"_a);
  nb::class_<Restorer>(module, "SideRestorer")
      .def(nb::init<const Wide&, const Values&, u32>(), "indptr"_a, "indices"_a, "n_right"_a)
      .def("restore", &Restorer::restore, "offsets"_a, "ids"_a, "n_left"_a, "n_right"_a);
  module.def("has_library", &has_library, "codec"_a);
}

}  // namespace bicliq
