// search_state.hpp: what all kinds of nodes share: limits, R, memory, and giving work away.
//
// The search is one class in four layers, each of which is the base of the next: this one,
// `NarrowNodes`, `TallNodes`, `WideNodes`; `MaximalBicliques` (mbe.hpp) is the whole. It is put
// together at compile time from
//
//   Self     the whole search, which the layers call to poll and to give up;
//   Sink     takes the bicliques (sink.hpp);
//   Workers  the other workers: how many subtrees they want, memory for one, and how to give it;
//   Memory   a stack of pieces (`take`, `mark`, `release`), and whether so much more fits.
#pragma once

#include "graphs/limits.hpp"
#include "search/sink.hpp"
#include "search/subtree.hpp"
#include "search/tuning.hpp"
#include "lanes/lanes.hpp"
#include "lanes/pieces.hpp"

namespace bicliq {

/// What the search does before the next step of its deepest open node.
enum class Next : u32 {
  kStep = 0,        // nothing
  kResumeLeaf = 1,  // go on with the leaf that was parked
  kOpenNarrow = 2   // this or more: open the narrow node of so many rows, whose lists have just been filled
};
/// A narrow node has at least two rows.
inline Next open_narrow_of(u32 n_rows) { return static_cast<Next>(n_rows); }

/// Can a biclique below a node with so many rows, and columns at most, be wanted?
template <class Sink>
inline bool is_promising(const Limits& limits, Sink& sink, u32 n_rows, u32 n_columns) {
  if constexpr (!Sink::wants_members) return true;
  if constexpr (Sink::bounds_by_size)
    if (!sink.hopeful(n_rows, n_columns)) return false;
  return limits.reached(n_rows, n_columns);
}

/// A wide or a tall node on the path to the current one, which is done with when all its candidates
/// have been tried.
template <class Level, class Mark>
struct NodeOnPath {
  Level* parent;
  u32* alive;     // candidates that are not done with, one bit each
  u32 next, end;  // those that are still to be tried
  u32 n_members;  // R, as it was when the node was opened
  u64 members_hash;
  Mark mark;  // memory is released to here when the node is done

  void drop(u32 word, u32 bits) { put(alive + word, alive[word] & ~bits); }
  void drop(u32 x) { drop(x / 32, 1u << x % 32); }
};

template <class Self, class Sink, class Workers, class Memory>
class SearchState {
 public:
  SearchState(const Limits& limits, Workers& workers, Sink& sink, Memory& memory)
      : limits_(limits),
        workers_(workers),
        sink_(sink),
        memory_(memory),
        rows_needed_(limits.min_rows > 2 ? limits.min_rows : 2) {}

  u64 nodes = 0, dropped = 0;

 protected:
  static constexpr u32 kEndNow = ~0u;
  using Mark = typename Memory::Mark;
  using Block = typename Workers::Block;

  const Limits limits_;
  Workers& workers_;
  Sink& sink_;
  Memory& memory_;
  const u32 rows_needed_;  // a column with fewer rows in L is dropped
  Members members_;
  u32 root_ = 0;
  u32 since_poll_ = 0;  // nodes, or work that takes as long, since the last look at the other workers
  u32 wanted_ = 0;      // subtrees that idle workers want, as of the last look; kEndNow: the search is to end

  Self& self() { return static_cast<Self&>(*this); }

  /// f(field) for all that a parked search must keep between two launches of a kernel.
  template <class F>
  void each_field(F&& f) {
    f(members_);
    f(root_);
  }
  /// Is there room to report a biclique of at most so many rows and columns?
  bool room(u32 rows, u32 columns) {
    if constexpr (Sink::may_lack_room) return sink_.room(rows, columns);
    return true;
  }

  template <class T>
  static constexpr usize words_of() {
    return (sizeof(T) + 3) / 4;
  }
  // ---- R ----------------------------------------------------------------------------------------

  void join(u32 column) {
    if constexpr (Sink::wants_members) {
      if constexpr (Sink::wants_ids) members_.ids[members_.n] = column;
      ++members_.n;
      members_.hash += sink_.column_hash(column);
    }
  }
  /// Puts R back to what it was with n columns.
  void reset_members(u32 n, u64 hash) {
    members_.n = n;
    members_.hash = hash;
  }
  bool promising(u32 n_rows, u32 n_columns) const { return is_promising(limits_, sink_, n_rows, n_columns); }

  // ---- the path: wide and tall nodes ------------------------------------------------------------

  template <class Level>
  Level& push_node(Level*& top, Mark mark) {
    Level* level = reinterpret_cast<Level*>(memory_.take(words_of<Level>()));
    level->parent = top;
    level->mark = mark;
    top = level;
    return *level;
  }
  /// Some candidates of a node whose lists are filled are to be tried.
  template <class Level>
  void begin(Level& level, u32 from, u32 to) {
    level.next = from;
    level.end = to;
    level.n_members = members_.n;
    level.members_hash = members_.hash;
  }
  /// Finds the next candidate of the last node; where none is left, closes that and is false.
  template <class Level>
  bool next_candidate(Level*& top, u32& x) {
    Level& level = *top;
    x = next_bit(level.alive, level.next, level.end);
    if (x == level.end) {
      top = level.parent;
      memory_.release(level.mark);
      return false;
    }
    level.next = x + 1;
    reset_members(level.n_members, level.members_hash);
    return true;
  }
  /// The shallowest node from here up that has a candidate to try; or null.
  template <class Level>
  static Level* shallowest(Level* level) {
    Level* top = nullptr;
    BICLIQ_ROLL
    for (; level; level = level->parent)
      if (next_bit(level->alive, level->next, level->end) < level->end) top = level;
    return top;
  }

  // ---- giving work away -------------------------------------------------------------------------

  /// A subtree to give away, so far with its root and R; its arrays are cut from the block.
  Subtree begin_given(Block& block, u32 n_members, u64 hash) const {
    Subtree tree;
    tree.root = root_;
    tree.members.n = n_members;
    tree.members.hash = hash;
    if constexpr (Sink::wants_ids) {
      tree.members.ids = block.take(n_members);
      for (u32 i = 0; i < n_members; ++i) tree.members.ids[i] = members_.ids[i];
    }
    return tree;
  }
  /// Words of the block that `begin_given` takes.
  static usize members_words(u32 n_members) { return Sink::wants_ids ? padded(n_members) : 0; }
  static u32* copy(Block& block, const u32* from, u32 n) {
    u32* to = block.take(n);
    copy_piece(to, from, n);
    return to;
  }
};

}  // namespace bicliq
