// row_groups.hpp: how row groups are laid out, as Python says it, and a row group for Python.
#pragma once

#include "bindings/bindings.hpp"
#include "lanes/memory.hpp"
#include "output/row_group.hpp"
#include "search/enumeration.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>

namespace bicliq {

/// Of surprise: terms and costs of both sides, the correction, its lowest argument and its shift.
using SurpriseArrays = std::tuple<Input<i64>, Input<i64>, Input<i64>, Input<i64>, Input<i32>, i64, u32>;

inline StoredObjectives objectives_of(const std::vector<Objective>& wanted, const std::optional<SurpriseArrays>& terms, double unit) {
  StoredObjectives stored;
  stored.wanted = wanted;
  stored.unit = unit;
  if (!terms) return stored;
  const auto& [left, right, left_costs, right_costs, correction, lowest, shift] = *terms;
  stored.left = {left.data(), left.size()};
  stored.right = {right.data(), right.size()};
  stored.left_costs = {left_costs.data(), left_costs.size()};
  stored.right_costs = {right_costs.data(), right_costs.size()};
  stored.correction = {correction.data(), lowest, static_cast<u32>(correction.size()), shift};
  return stored;
}

/// Makes row groups in any thread; holds what Python gave for it.
class RowGroupMaker : public Taker {
 public:
  RowGroupMaker(bool smaller_only, Codec codec, int level, nb::object compress, const std::vector<Objective>& objectives,
                std::optional<SurpriseArrays> terms, double unit)
      : smaller_only_(smaller_only), codec_(codec), level_(level), compress_(std::move(compress)), terms_(std::move(terms)),
        stored_(objectives_of(objectives, terms_, unit)) {
    if (compress_.is_none()) check_library(codec_);
  }
  /// Row groups are made by who finds the bicliques. Where a column holds lists of both sides these
  /// are of ids: places would have to be numbered together.
  void set(Settings& settings) override;

  /// What a thread makes row groups with. Python's lock is taken for pages that a function of
  /// Python compresses, and for nothing else.
  std::unique_ptr<RowGroupEncoder> encoder() const { return std::make_unique<RowGroupEncoder>(stored_, codec_ != Codec::none, compress()); }
  void add(RowGroupEncoder& to, const ListColumn& left, const ListColumn& right, const i32* root, std::size_t n) const {
    const std::vector<i32> n_left = left.lengths(n), n_right = right.lengths(n);
    const auto add = [&](const std::vector<ListColumn>& lists) { to.add({n, n_left.data(), n_right.data(), root, lists, {left, right}}); };
    if (smaller_only_)
      add({SmallerSides(left, right, n).column()});
    else
      add({left, right});
  }
  std::shared_ptr<RowGroup> finish(RowGroupEncoder& of) const {
    std::unique_ptr<Bytes> bytes = bytes_->take(std::make_unique<Bytes>);
    return std::shared_ptr<RowGroup>(new RowGroup(of.finish(std::move(*bytes))), GiveBack{bytes_});
  }

  std::shared_ptr<RowGroup> operator()(const ListColumn& left, const ListColumn& right, const i32* root, std::size_t n) const {
    return made([&](RowGroupEncoder& encoder) { add(encoder, left, right, root, n); });
  }
  /// Of smaller sides, where these alone are written.
  std::shared_ptr<RowGroup> operator()(const ListColumn& smaller, const i32* n_left, const i32* n_right, const i32* root, std::size_t n) const {
    if (!smaller_only_) throw std::invalid_argument("a layout of both sides takes batches of both");
    return made([&](RowGroupEncoder& encoder) { encoder.add({n, n_left, n_right, root, {smaller}, {}}); });
  }

 private:
  template <class Add>
  std::shared_ptr<RowGroup> made(Add add) const {
    std::unique_ptr<RowGroupEncoder> encoder = encoders_.take([this] { return this->encoder(); });
    add(*encoder);
    std::shared_ptr<RowGroup> group = finish(*encoder);
    encoders_.give(std::move(encoder));
    return group;
  }
  /// Of a row group that was written, another one may take the memory.
  struct GiveBack {
    std::shared_ptr<Pool<Bytes>> to;
    void operator()(RowGroup* group) const {
      group->bytes.clear();
      to->give(std::make_unique<Bytes>(std::move(group->bytes)));
      delete group;
    }
  };
  Compress compress() const {
    if (compress_.is_none()) return library_of(codec_, level_);
    return [function = nb::handle(compress_)](const Bytes& from, Bytes& to, Content) {
      const nb::gil_scoped_acquire acquire;
      const nb::bytes packed = nb::cast<nb::bytes>(function(nb::bytes(from.data(), from.size())));
      to.put(packed.c_str(), packed.size());
    };
  }
  static constexpr std::size_t kMostKept = 64;  // of each: for so many threads, and what waits to be written

  const bool smaller_only_;
  const Codec codec_;
  const int level_;
  const nb::object compress_;
  const std::optional<SurpriseArrays> terms_;
  const StoredObjectives stored_;
  mutable Pool<RowGroupEncoder> encoders_{kMostKept};
  const std::shared_ptr<Pool<Bytes>> bytes_ = std::make_shared<Pool<Bytes>>(kMostKept);  // Python may hold row groups for longer
};

inline ListColumn column_of(const IdLists& lists) {
  if (lists.holds_places()) return {lists.offsets().data(), nullptr, lists.places(), &lists.entries};
  return {lists.offsets().data(), lists.ids()};
}

/// The row group that a worker makes next.
class WorkersRowGroup : public OpenRowGroup {
 public:
  explicit WorkersRowGroup(const RowGroupMaker& maker) : maker_(maker), encoder_(maker.encoder()) {}
  void add(const Batch& piece) override {
    maker_.add(*encoder_, column_of(piece.left), column_of(piece.right), piece.root.data(), piece.size());
  }
  std::shared_ptr<RowGroup> finish() override { return maker_.finish(*encoder_); }

 private:
  const RowGroupMaker& maker_;
  const std::unique_ptr<RowGroupEncoder> encoder_;
};

inline void RowGroupMaker::set(Settings& settings) {
  settings.places = !smaller_only_;
  settings.encoder = [this] { return std::make_unique<WorkersRowGroup>(*this); };
}

/// Its rows, its bytes, its columns and its sizes.
inline nb::object python_of(const std::shared_ptr<RowGroup>& group) {
  nb::list columns;
  for (const ColumnChunk& c : group->columns)
    columns.append(nb::make_tuple(c.begin, c.data, c.end, c.n_values, c.uncompressed, c.n_pages,
                                  nb::bytes(c.least.data(), c.least.size()), nb::bytes(c.most.data(), c.most.size())));
  const GroupSizes& sizes = group->sizes;
  const nb::capsule owner(new std::shared_ptr<RowGroup>(group), [](void* p) noexcept { delete static_cast<std::shared_ptr<RowGroup>*>(p); });
  using Raw = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(group->bytes.data());
  return nb::make_tuple(group->n_rows, nb::cast(Raw(bytes, {group->bytes.size()}, owner)), columns, sizes.left, sizes.right, sizes.largest);
}

}  // namespace bicliq
