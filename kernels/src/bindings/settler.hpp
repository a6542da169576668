// settler.hpp: what settles the bicliques of changes, with the arrays that Python gave for it.
#pragma once

#include "bindings/bindings.hpp"
#include "enumeration/row_settler.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

/// Takes batches in any thread; the graph, the vertices and what it adds to live as long.
class Settler {
 public:
  using Vertices = Input<std::int32_t>;
  using Starts = Input<std::int64_t>;
  Settler(const ChangedGraph& graph, const Remains::Least& least, const RowVertices& vertices, FoundRows& to, const Vertices& left_of,
          const Vertices& right_of, const Vertices& change_of, const Starts& left_start, const Starts& right_start, std::int32_t first)
      : left_of_(left_of), right_of_(right_of), change_of_(change_of), left_start_(left_start), right_start_(right_start),
        settler_(graph, least, vertices, {left_of.data(), right_of.data(), change_of.data(), left_start.data(), right_start.data(), first}, to) {}
  void operator()(const Batch& batch) { settler_(batch); }
  void finish() { settler_.finish(); }

 private:
  const Vertices left_of_, right_of_, change_of_;
  const Starts left_start_, right_start_;
  RowSettler settler_;
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
