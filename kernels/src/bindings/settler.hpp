// settler.hpp: what settles the bicliques of changes, with the arrays that Python gave for it.
#pragma once

#include "bindings/bindings.hpp"
#include "changes/change_sink.hpp"
#include "search/enumeration.hpp"

namespace bicliq {

/// The hashes of both sides, and the places of that of the roots, as Python gave them.
class GraphVertices {
 public:
  GraphVertices(const Input<u64>& left_hashes, const Input<u64>& right_hashes, bool roots_are_left, const Input<std::int32_t>& place)
      : left_hashes_(left_hashes), right_hashes_(right_hashes), place_(place), roots_are_left_(roots_are_left) {
    if (place.size() < n_roots()) throw std::invalid_argument("a vertex that may be a root has no place");
  }
  std::size_t n_roots() const { return (roots_are_left_ ? left_hashes_ : right_hashes_).size(); }
  VerticesOfBoth both() const {
    const auto places = [this](bool of_roots) { return of_roots ? place_.data() : nullptr; };
    return {{left_hashes_.data(), kLeftSeed, places(roots_are_left_)}, {right_hashes_.data(), kRightSeed, places(!roots_are_left_)}};
  }

 private:
  const Input<u64> left_hashes_, right_hashes_;
  const Input<std::int32_t> place_;
  const bool roots_are_left_;
};

/// The graph, the vertices and what it adds to live as long.
class Settler : public Taker {
 public:
  using Vertices = Input<std::int32_t>;
  using Starts = Input<std::int64_t>;
  Settler(const ChangedGraph& graph, const Limits& least, const GraphVertices& vertices, FoundRows& to, const Starts& row_start,
          const Vertices& row, const Vertices& left_of, const Vertices& right_of, const Starts& left_start, const Starts& right_start,
          std::int32_t first, std::size_t few)
      : row_start_(row_start), row_(row), left_of_(left_of), right_of_(right_of), left_start_(left_start), right_start_(right_start),
        task_(graph, least, vertices.both(),
              {row_start.data(), row.data(), left_of.data(), right_of.data(), left_start.data(), right_start.data(), left_start.size(), first}, to, few) {}
  void set(Settings& settings) override {
    settings.worker = [this](Enumeration& of) { search_changes(task_, of); };
  }
  /// Whether few were found, which are then among the others of what was found.
  bool finish() {
    const nb::gil_scoped_release release;
    return task_.finish();
  }

 private:
  const Starts row_start_;
  const Vertices row_, left_of_, right_of_;
  const Starts left_start_, right_start_;
  ChangeTask task_;
};

}  // namespace bicliq
