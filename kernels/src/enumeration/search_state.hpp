// search_state.hpp: what every kind of node shares: the limits, the crew, the sink, the stack of memory, and R.
#pragma once

#include "lanes/lanes.hpp"
#include "enumeration/limits.hpp"
#include "lanes/pieces.hpp"
#include "enumeration/subtree.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

/// `Self` is the whole search: it opens and polls. `Sink` gets the bicliques, `Crew` knows whether workers wait, `Memory` is a stack.
template <class Self, class Sink, class Crew, class Memory>
class SearchState {
 public:
  SearchState(const Limits& limits, Crew& crew, Sink& sink, Memory& memory)
      : limits_(limits), crew_(crew), sink_(sink), memory_(memory), rows_needed_(limits.min_rows > 2 ? limits.min_rows : 2) {}

  u64 nodes = 0, dropped = 0;

 protected:
  static constexpr u32 kOver = ~0u;
  using Mark = typename Memory::Mark;
  using Parcel = typename Crew::Parcel;

  const Limits limits_;
  Crew& crew_;
  Sink& sink_;
  Memory& memory_;
  const u32 rows_needed_;
  Members members_;
  u32 root_ = 0, ticks_ = 0;
  u32 asked_ = 0;  // subtrees that waiting workers want, as of the last look; kOver: all is to end

  Self& self() { return static_cast<Self&>(*this); }

  /// What a search that parks must keep between two launches of a kernel: f(field) for all that is no scratch.
  template <class F>
  void each_field(F&& f) {
    f(members_);
    f(root_);
  }
  /// Is there room to report a biclique of at most so many rows and columns? Only a bounded sink may lack it.
  bool room(u32 rows, u32 columns) {
    if constexpr (Sink::kBounded) return sink_.room(rows, columns);
    return true;
  }

  template <class T>
  static constexpr usize words_of() {
    return (sizeof(T) + 3) / 4;
  }
  static u32 low_bits(u32 n) { return n >= kLanes ? ~0u : (1u << n) - 1; }
  /// The bits before x, of the word with that number.
  static u32 bits_below(u32 word, u32 x) {
    if (word < x / 32) return ~0u;
    return word == x / 32 ? (1u << x % 32) - 1 : 0;
  }
  /// The first set bit from `from` on, or `end`.
  static u32 next_bit(const u32* words, u32 from, u32 end) {
    for (u32 x = from; x < end; x = (x / 32 + 1) * 32)
      if (const u32 rest = words[x / 32] >> x % 32) {
        x += first_set(rest);
        return x < end ? x : end;
      }
    return end;
  }

  // ---- R ----------------------------------------------------------------------------------------

  void join(u32 column) {
    if constexpr (Sink::kMembers) {
      if constexpr (Sink::kIds) members_.ids[members_.n] = column;
      ++members_.n;
      members_.hash += sink_.column_hash(column);
    }
  }
  void leave_to(u32 n, u64 hash) {
    members_.n = n;
    members_.hash = hash;
  }
  /// Can a node with so many rows, and columns at most, still lead to an answer?
  bool promising(u32 n_rows, u32 n_columns) const {
    if constexpr (!Sink::kMembers) return true;
    return n_columns >= limits_.min_columns && static_cast<u64>(n_rows) * n_columns >= limits_.min_edges;
  }

  // ---- what is given away ---------------------------------------------------------------------------

  Subtree parcel_head(Parcel& parcel, u32 n_members, u64 hash) const {
    Subtree tree;
    tree.root = root_;
    tree.members.n = n_members;
    tree.members.hash = hash;
    if constexpr (Sink::kIds) {
      tree.members.ids = parcel.take(n_members);
      for (u32 i = 0; i < n_members; ++i) tree.members.ids[i] = members_.ids[i];
    }
    return tree;
  }
  static usize head_words(u32 n_members) { return Sink::kIds ? padded(n_members) : 0; }
  /// A piece of memory, copied.
  static u32* copy(Parcel& parcel, const u32* from, u32 n) {
    u32* to = parcel.take(n);
    copy_piece(to, from, n);
    return to;
  }
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
