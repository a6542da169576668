// mbe.hpp: every maximal biclique of a bipartite graph, each exactly once.
//
// What it finds: all pairs (L, R) of a set of rows and a set of columns, neither empty, that are
// complete (every row of L has every column of R) and not contained in a larger such pair; only
// those with at least `min_rows`, `min_columns` and `min_edges` = |L|·|R|. Bicliques of one row are
// found apart, when a root is built.
//
// Input: a `Subtree` (subtree.hpp): a root with its rows and the columns within two steps of it,
// made by roots.hpp on a CPU and by device_roots.hpp on a GPU; or a part of the search that another
// worker gave away. The columns of the graph are numbered in search order.
//
// Method: the search is depth first, and finds each biclique below its *root*, which is its first
// column. A node is a set L of rows, the columns that may still join R (the *candidates*) and those
// that may not (the *excluded* columns: earlier ones, and candidates that were tried before), each
// as a mask over the rows of L. The child for candidate x has L' = L ∩ N(x), where N(x) are the
// rows of x. If an excluded column has all of L', the child's bicliques are found elsewhere, and it
// is dropped; otherwise the candidates that have all of L' join R, and (L', R) is one of the
// answers. Candidates whose rows in L all lie in N(x) need not be tried at the parent any more, and
// only columns with at least two rows in L' stay in the child.
//
// What keeps nodes small: excluded columns are cut down to the rows that some candidate has, an
// excluded column whose rows another one has is dropped, and so is a candidate whose rows an
// excluded column has. A node takes one of three forms, and its children the same or a smaller one:
// up to 32 rows, lists of one-word masks, and once few columns are left a *leaf* in registers
// (narrow_nodes.hpp); more rows, a bit matrix (wide_nodes.hpp) or, where the columns are few, lists
// of masks of several words (tall_nodes.hpp).
//
// Cost: O(columns within two steps / 32) word operations a node. Memory of a worker: the matrix of
// its root, and the nodes on the path to the current one.
//
// Papers: Kuznetsov 1993 (Close-by-One, the test by excluded columns); Zhang et al. 2014 (iMBEA);
// Pan et al., SC'23 (GMBE), whose pruning by local neighbourhood size drops the candidates inside
// N(x); AdaMBE, SC'24.
#pragma once

#include "search/tall_from_matrix.hpp"

namespace bicliq {

/// The search of one worker; search_state.hpp says what its parts are.
template <class Sink, class Workers, class Memory>
class MaximalBicliques : public WideNodes<MaximalBicliques<Sink, Workers, Memory>, Sink, Workers, Memory> {
  using Base = WideNodes<MaximalBicliques<Sink, Workers, Memory>, Sink, Workers, Memory>;
  using Base::workers_, Base::members_, Base::memory_, Base::narrow_, Base::n_narrow_, Base::root_, Base::sink_,
      Base::tall_, Base::since_poll_, Base::wide_, Base::wanted_, Base::kEndNow;
  using typename Base::Mark;

 public:
  using Base::Base;
  using Base::nodes, Base::dropped;

  /// Everything below a node whose own biclique has been reported.
  void search(const Subtree& tree) {
    const Mark start = memory_.mark();
    run(open(tree));
    memory_.release(start);
  }

  // ---- the same in pieces, for a sink that may lack room ----------------------------------------
  // Then `run` returns, and `resume` says how to go on.

  /// Makes the root of a subtree the current node; `run` goes on from there.
  Next open(const Subtree& tree) {
    if (!memory_.fits(base_words(tree))) {
      overflow();
      return Next::kStep;
    }
    sink_.root(tree.root);
    root_ = tree.root;
    members_ = tree.members;
    if constexpr (Sink::wants_ids) {
      members_.ids = memory_.take(tree.members.n + usize{tree.wide ? tree.matrix.n_candidates : tree.n_candidates});
      for (u32 i = 0; i < tree.members.n; ++i) members_.ids[i] = tree.members.ids[i];
    }
    Base::take_narrow_levels();
    if (!tree.wide && !tree.merged && tree.n_rows <= kLanes) return Base::start_narrow(tree);
    if (tree.wide)
      Base::start_wide(tree);
    else if constexpr (kTallNodes)
      Base::start_tall(tree);
    return Next::kStep;
  }
  /// Did `run` return before the end?
  bool parked() const { return n_narrow_ || tall_ || wide_ || Base::parked_in_leaf(); }
  /// Prepares to go on with a parked search, whose fields have been put back (`each_field`).
  Next resume() {
    sink_.root(root_);
    if (n_narrow_ || Base::parked_in_leaf()) sink_.rows(Base::subtree_rows_, Base::n_subtree_rows_);
    return Base::parked_in_leaf() ? Next::kResumeLeaf : Next::kStep;
  }
  using Base::each_field;

  /// Searches until no node is open, or the sink has no room for what the next step may find.
  void run(Next next) {
    for (;;) {
      if (next != Next::kStep) Base::open_narrow(next);
      if (since_poll_ >= kNodesAPoll) poll();
      next = wanted_ && answer() ? Next::kResumeLeaf : Next::kStep;
      if (next != Next::kStep) continue;
      if (!room()) return;
      if (n_narrow_)
        next = Base::step_narrow(narrow_[n_narrow_ - 1]);
      else if (kTallNodes && tall_)
        next = Base::step_tall();
      else if (wide_)
        next = Base::step_wide();
      else
        return;
    }
  }

  // ---- what the layers below call ---------------------------------------------------------------

  /// Asks whether other workers want something; true where `answer` is to be called. A leaf asks as
  /// well, and parks so that it can be called: the code that gives work away is there only once,
  /// and takes no registers in the middle of a leaf.
  bool poll() {
    since_poll_ = 0;
    wanted_ = workers_.stopped() ? kEndNow : workers_.wanted();
    return wanted_ != 0;
  }
  /// The memory does not suffice for the node at hand.
  void overflow() {
    workers_.overflow();
    abandon();
  }

 private:
  bool room() {
    if constexpr (!Sink::may_lack_room) return true;
    if (Base::parked_in_leaf()) return false;
    if (n_narrow_) return Base::narrow_room();
    if (kTallNodes && tall_) return Base::tall_room();
    return !wide_ || Base::wide_room();
  }
  /// Words that a subtree needs before its first child.
  static usize base_words(const Subtree& tree) {
    const usize columns = usize{tree.members.n} + tree.n_candidates + tree.matrix.n_candidates,
                rows = usize{tree.n_rows} + (tree.merged ? tree.merged->n_rows : 0) + tree.matrix.n_rows;
    return columns + Base::narrow_words() + 3 * padded(rows) + 3 * padded(tree.matrix.stride()) + 1024 +
           (tree.wide && !tree.matrix.columns ? usize{words_for(tree.matrix.n_rows) + 2} * tree.matrix.column_stride()
                                              : 0);
  }
  /// Gives away what other workers want, or ends; true where a leaf was parked for that and goes
  /// on.
  bool answer() {
    if (wanted_ == kEndNow) abandon();
    while (wanted_ && give()) --wanted_;
    wanted_ = 0;
    return Base::parked_in_leaf();
  }
  /// Forgets all open nodes.
  void abandon() {
    wanted_ = 0;
    Base::forget_leaf();
    n_narrow_ = 0;
    tall_ = nullptr;
    wide_ = nullptr;
  }
  /// Gives away a part of the shallowest node that has one: wide nodes lie above tall ones, and
  /// these above narrow ones.
  bool give() { return Base::give_wide() || (kTallNodes && Base::give_tall()) || Base::give_narrow(); }
};

}  // namespace bicliq
