// mbe.hpp: every maximal biclique of a bipartite graph, each exactly once.
//
// What: all pairs (L, R) of a set of rows and a set of columns, both not empty, complete and not
// contained in a larger one; only those with at least `min_rows`, `min_columns` and `min_edges`.
//
// Input: a `Subtree` (subtree.hpp): a root's columns over its rows, made by roots.hpp on a CPU and by enumeration.cu
// on a GPU, or a part of the search that another worker gave away.
//
// Method: each biclique is found below the *root* that is its first column. A node is a set L of rows,
// the columns that may still join (*candidates*) and those that may not (*befores*: earlier roots,
// candidates already tried), each column as a mask over the rows of L. The child of candidate x has
// L' = L ∩ N(x); it is canonical unless a before covers L' (then it was found elsewhere: no excluded set
// of vertices is ever kept); candidates that cover L' join R, candidates that lie inside N(x) are done
// with (sibling pruning), and only columns with at least two rows in L' stay: bicliques of one row are
// counted at their root, outside. Befores are reduced to the rows that some candidate has, and
// those inside another before are dropped, with the candidates inside them.
//
// Kinds of nodes: more than 32 rows: a bit matrix, children through its rows (wide_nodes.hpp), or lists of masks of
// several words where the columns are few (tall_nodes.hpp). At most 32 rows: lists of one-word masks, and leaves
// in registers (narrow_nodes.hpp). A node's children are of its own kind or a narrower one.
//
// Cost: O(columns in two steps / 32) word operations a node; memory a worker: the matrix of its root and
// of the nodes on its path (bitmatrix.hpp), freed when the root ends.
//
// Papers: Close-by-One (Kuznetsov 1993); iMBEA (Zhang et al. 2014); GMBE (Pan et al., SC'23), whose
// local-neighbourhood-size pruning is the sibling pruning here; AdaMBE (SC'24).
#pragma once

#include "enumeration/wide_nodes.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

/// The search of one worker. `Sink` gets the bicliques, `Crew` knows whether workers wait, `Memory` is a stack.
template <class Sink, class Crew, class Memory>
class MaximalBicliques : public WideNodes<MaximalBicliques<Sink, Crew, Memory>, Sink, Crew, Memory> {
  using Base = WideNodes<MaximalBicliques<Sink, Crew, Memory>, Sink, Crew, Memory>;
  using typename Base::Mark;
  using Base::crew_, Base::members_, Base::memory_, Base::narrow_, Base::n_narrow_, Base::root_, Base::sink_, Base::tall_, Base::ticks_,
      Base::wide_, Base::asked_, Base::kOver;

 public:
  using Base::Base;
  using Base::nodes, Base::dropped;

  /// Everything below a node whose own biclique has been reported.
  void search(const Subtree& tree) {
    const Mark start = memory_.mark();
    run(open(tree));
    memory_.release(start);
  }

  // ---- in pieces, for a sink that is bounded: `run` returns where there is no room, and `resume` prepares to go on -------

  /// Makes the root of a subtree the current node; returns what `run` is to be told.
  u32 open(const Subtree& tree) {
    if (!memory_.fits(base_words(tree))) {
      overflow();
      return 0;
    }
    sink_.root(tree.root);
    root_ = tree.root;
    members_ = tree.members;
    if constexpr (Sink::kIds) {
      members_.ids = memory_.take(tree.members.n + usize{tree.wide ? tree.matrix.n_candidates : tree.n_candidates});
      for (u32 i = 0; i < tree.members.n; ++i) members_.ids[i] = tree.members.ids[i];
    }
    Base::take_narrow_levels();
    if (!tree.wide && tree.n_rows <= kLanes) return Base::start_narrow(tree);
    if (tree.wide)
      Base::start_wide(tree);
    else if constexpr (kTallNodes)
      Base::start_tall(tree);
    return 0;
  }
  /// Did `run` return before the end?
  bool parked() const { return n_narrow_ || tall_ || wide_ || Base::parked_in_leaf(); }
  /// Prepares to go on with a parked search, whose fields `each_field` has put back; returns what `run` is to be told.
  u32 resume() {
    sink_.root(root_);
    if (n_narrow_ || Base::parked_in_leaf()) sink_.rows(Base::subtree_rows_, Base::n_subtree_rows_);
    return Base::parked_in_leaf();
  }
  using Base::each_field;

  // ---- what the nodes call ------------------------------------------------------------------------

  /// `filled`: rows of the node in narrow_[n_narrow_], which is to be opened; 0 where there is none.
  void run(u32 filled) {
    for (;;) {
      if (filled) Base::open_narrow(filled);
      if (ticks_ >= kNodesAPoll) called();
      filled = asked_ && answer();
      if (filled) continue;
      if (!room()) return;
      if (n_narrow_)
        filled = Base::step_narrow(narrow_[n_narrow_ - 1]);
      else if (kTallNodes && tall_)
        filled = Base::step_tall(*tall_);
      else if (wide_)
        filled = Base::step_wide(*wide_);
      else
        return;
    }
  }
  /// Looks at the crew; true where `answer` is to be called. A leaf asks too, and parks for it: so there is one copy of
  /// the code that gives work away, and registers are not kept for it in the midst of a leaf.
  bool called() {
    ticks_ = 0;
    asked_ = crew_.stopped() ? kOver : crew_.wanted();
    return asked_ != 0;
  }
  void overflow() {
    crew_.overflow();
    abandon();
  }

 private:
  bool room() {
    if constexpr (!Sink::kBounded) return true;
    if (Base::parked_in_leaf()) return false;
    if (n_narrow_) return Base::narrow_room();
    if (kTallNodes && tall_) return Base::tall_room();
    return !wide_ || Base::wide_room();
  }
  static usize base_words(const Subtree& tree) {
    const usize columns = usize{tree.members.n} + tree.n_candidates + tree.matrix.n_candidates, rows = usize{tree.n_rows} + tree.matrix.n_rows;
    return columns + Base::narrow_words() + 3 * padded(rows) + 3 * padded(tree.matrix.stride()) + 1024 +
           (tree.wide && !tree.matrix.columns ? usize{words_for(tree.matrix.n_rows) + 2} * tree.matrix.column_stride() : 0);
  }
  /// Ends, or gives work away; true where a leaf was left for that and is to go on.
  bool answer() {
    if (asked_ == kOver) abandon();
    while (asked_ && give()) --asked_;
    asked_ = 0;
    return Base::parked_in_leaf();
  }
  void abandon() {
    asked_ = 0;
    Base::forget_leaf();
    n_narrow_ = 0;
    tall_ = nullptr;
    wide_ = nullptr;
  }
  /// Gives away from the shallowest open level: wide ones lie above tall ones, and these above narrow ones.
  bool give() { return Base::give_wide() || (kTallNodes && Base::give_tall()) || Base::give_narrow(); }
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
