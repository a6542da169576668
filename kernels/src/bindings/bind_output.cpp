// bind_output.cpp: row groups of bicliques made, read and checked, sides restored, and sets of
// bicliques, without Python's lock.
#include "bindings/row_groups.hpp"
#include "changes/net_changes.hpp"
#include "output/biclique_set.hpp"
#include "output/list_column.hpp"
#include "output/restore_sides.hpp"
#include "output/stored_row_group.hpp"

namespace bicliq {
namespace {

void check_lengths(std::size_t n, const Values& n_left, const Values& n_right, const Values& root) {
  if (n_left.size() != n || n_right.size() != n || root.size() != n)
    throw std::invalid_argument("n_left, n_right and root differ in length");
}

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
  check_lengths(n, n_left, n_right, root);
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
    return arrays_of(std::move(left_offsets), std::move(left), std::move(right_offsets), std::move(right));
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

/// Rows of both sides, or of the smaller ones: calls `visit` with a side, both sizes and the root.
struct BothSides {
  const Values &left_offsets, &left, &right_offsets, &right, &root;
  std::size_t size() const { return root.size(); }
  void check_all() const {
    check_lists(left_offsets, left, size());
    check_lists(right_offsets, right, size());
  }
  template <class Visit>
  void each(const Visit& visit) const {
    const i32 *l = left_offsets.data(), *r = right_offsets.data();
    for (std::size_t i = 0; i < size(); ++i) {
      const i32 n_left = l[i + 1] - l[i], n_right = r[i + 1] - r[i];
      const bool is_left = left_is_smaller(n_left, n_right);
      const i32* const first = is_left ? left.data() + l[i] : right.data() + r[i];
      visit(i, BicliqueSet::Side{first, first + std::min(n_left, n_right), is_left}, n_left, n_right, root.data()[i]);
    }
  }
};
struct SmallerSidesOnly {
  const Values &offsets, &ids, &n_left, &n_right, &root;
  std::size_t size() const { return root.size(); }
  void check_all() const {
    check_lists(offsets, ids, size());
    check_lengths(size(), n_left, n_right, root);
  }
  template <class Visit>
  void each(const Visit& visit) const {
    const i32* const at = offsets.data();
    for (std::size_t i = 0; i < size(); ++i)
      visit(i, BicliqueSet::Side{ids.data() + at[i], ids.data() + at[i + 1], left_is_smaller(n_left.data()[i], n_right.data()[i])},
            n_left.data()[i], n_right.data()[i], root.data()[i]);
  }
};

/// Some rows on their way through a set: what each look begins with is asked of memory for all of
/// them, and only then looked at (a third of the time).
class Looks {
 public:
  struct Look {
    std::size_t row;
    BicliqueSet::Side side;
    u64 hash;
    i32 n_left, n_right, root;
  };
  template <class RowsOf, class Wanted, class Use>
  static void each(const RowsOf& rows, const BicliqueSet& set, const Wanted& wanted, const Use& use) {
    std::vector<Look> waiting;
    waiting.reserve(kTogether);
    const auto look = [&] {
      for (const Look& one : waiting) use(one);
      waiting.clear();
    };
    rows.each([&](std::size_t i, const BicliqueSet::Side& side, i32 n_left, i32 n_right, i32 root) {
      if (!wanted(n_left, n_right, root)) return;
      waiting.push_back({i, side, BicliqueSet::hash_of(side), n_left, n_right, root});
      set.fetch(waiting.back().hash);
      if (waiting.size() == kTogether) look();
    });
    look();
  }

 private:
  static constexpr std::size_t kTogether = 32;
};

template <class RowsOf>
void add(BicliqueSet& to, const RowsOf& rows) {
  rows.check_all();
  const nb::gil_scoped_release release;
  to.reserve(rows.size());
  Looks::each(rows, to, [](i32, i32, i32) { return true; },
              [&](const Looks::Look& one) { to.add(one.side, one.hash, one.n_left, one.n_right, one.root); });
}
template <class RowsOf>
nb::object holds(const BicliqueSet& set, const RowsOf& rows) {
  rows.check_all();
  std::vector<std::uint8_t> found(rows.size(), 0);
  {
    const nb::gil_scoped_release release;
    Looks::each(rows, set, [&](i32 n_left, i32 n_right, i32 root) { return set.may_hold(n_left, n_right, root); },
                [&](const Looks::Look& one) { found[one.row] = set.holds(one.side, one.hash); });
  }
  return numpy_of(std::move(found));
}
nb::object may_hold(const BicliqueSet& set, const Values& n_left, const Values& n_right, const Values& root) {
  check_lengths(root.size(), n_left, n_right, root);
  std::vector<std::uint8_t> found(root.size());
  without_lock([&] {
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = set.may_hold(n_left.data()[i], n_right.data()[i], root.data()[i]);
  });
  return numpy_of(std::move(found));
}

/// The lists that have a flag. Where one follows another, both are copied at once: of the rows that
/// a reader meets, nearly all have one.
nb::tuple kept_lists(const Values& offsets, const Values& ids, const Input<std::uint8_t>& kept) {
  const std::size_t n = kept.size();
  check_lists(offsets, ids, n);
  std::vector<i32> to_offsets, to_ids;
  {
    const nb::gil_scoped_release release;
    const i32* const at = offsets.data();
    const std::uint8_t* const flags = kept.data();
    std::size_t n_kept = 0, n_ids = 0;
    for (std::size_t i = 0; i < n; ++i)
      if (flags[i]) ++n_kept, n_ids += static_cast<std::size_t>(at[i + 1] - at[i]);
    to_offsets.reserve(n_kept + 1), to_ids.reserve(n_ids);
    to_offsets.push_back(0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t first = i;
      const i32 shift = static_cast<i32>(to_ids.size()) - at[first];
      for (; i < n && flags[i]; ++i) to_offsets.push_back(at[i + 1] + shift);
      to_ids.insert(to_ids.end(), ids.data() + at[first], ids.data() + at[i]);
    }
  }
  return arrays_of(std::move(to_offsets), std::move(to_ids));
}

/// Changes, one batch after the other; the arrays are kept until they were summed up.
class Net {
 public:
  void add(const Values& left_offsets, const Values& left, const Values& right_offsets, const Values& right, std::int32_t sign) {
    const std::size_t n = checked_batch(left_offsets, left, right_offsets, right);
    kept_.emplace_back(left_offsets, left, right_offsets, right);
    const nb::gil_scoped_release release;
    net_.add(n, sign, [&](std::size_t i) { return std::pair(list_of(left_offsets, left, i), list_of(right_offsets, right, i)); });
  }
  /// A flag a row of each batch.
  nb::list take() {
    nb::list found;
    for (std::vector<std::uint8_t>& each : without_lock([&] { return net_.take(); })) found.append(numpy_of(std::move(each)));
    return found;
  }

 private:
  std::vector<std::tuple<Values, Values, Values, Values>> kept_;
  NetChanges net_;
};

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
  nb::class_<BicliqueSet>(module, "BicliqueSet")
      .def(nb::init<>())
      .def("__len__", &BicliqueSet::size)
      .def("reserve", [](BicliqueSet& set, std::size_t n) { without_lock([&] { set.reserve(n); }); }, "n"_a)
      .def("may_hold", &may_hold, "n_left"_a, "n_right"_a, "root"_a)
      .def("add", [](BicliqueSet& to, const Values& lo, const Values& l, const Values& ro, const Values& r, const Values& root) { add(to, BothSides{lo, l, ro, r, root}); },
           "left_offsets"_a, "left"_a, "right_offsets"_a, "right"_a, "root"_a)
      .def("holds", [](const BicliqueSet& set, const Values& lo, const Values& l, const Values& ro, const Values& r, const Values& root) { return holds(set, BothSides{lo, l, ro, r, root}); },
           "left_offsets"_a, "left"_a, "right_offsets"_a, "right"_a, "root"_a)
      .def("add_smaller", [](BicliqueSet& to, const Values& o, const Values& ids, const Values& nl, const Values& nr, const Values& root) { add(to, SmallerSidesOnly{o, ids, nl, nr, root}); },
           "offsets"_a, "smaller"_a, "n_left"_a, "n_right"_a, "root"_a)
      .def("holds_smaller", [](const BicliqueSet& set, const Values& o, const Values& ids, const Values& nl, const Values& nr, const Values& root) { return holds(set, SmallerSidesOnly{o, ids, nl, nr, root}); },
           "offsets"_a, "smaller"_a, "n_left"_a, "n_right"_a, "root"_a);
  module.def("kept_lists", &kept_lists, "offsets"_a, "ids"_a, "kept"_a);
  nb::class_<Net>(module, "NetChanges")
      .def(nb::init<>())
      .def("add", &Net::add, "left_offsets"_a, "left"_a, "right_offsets"_a, "right"_a, "sign"_a)
      .def("take", &Net::take);
}

}  // namespace bicliq
