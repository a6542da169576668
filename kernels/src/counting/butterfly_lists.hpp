// butterfly_lists.hpp: what a count of butterflies on a device reads, made there.
//
// Input: a `ButterflyLists`, written by kernels/cuda/butterflies.py: a CSR matrix of the left side.
//
// Method: steps, of which each does the same for many items, whatever their order; between them the
// driver sorts words and adds up. Sorted by degree, then number, vertices have their ranks. An edge
// is two *slots*, (owner, adjacent); sorted, these are the lists of all vertices, one after the
// other. The slot of a root and a vertex of lower rank has as many paths of two edges as that
// vertex has neighbours of lower rank than the root: the root's place in that list. A root with one
// such slot is no butterfly's vertex of highest rank, and has none. Paths and words of tables,
// added up, say where those of each slot and root begin, and where a batch of roots does.
//
// Cost: O(edges × log degree), beside two sorts; 45 bytes an edge. No step needs another program
// than this one, which comes with Bicliq: an array library's kernels are compiled where they run.
#pragma once

#include "lanes/shared_words.hpp"
#include "lanes/sorted_words.hpp"

namespace bicliq {

/// In their order; kernels/cuda/butterflies.py numbers them too.
enum class ButterflyStep : u32 { kDegrees, kRanks, kSlots, kLists, kPaths, kLoneUnits, kTables, kBatches, kParts };

/// Everything the steps are told; 64-bit fields only. kernels/cuda/butterflies.py describes it too.
struct ButterflyLists {
  const i64* indptr;
  const i32* indices;
  u64* degrees;     // of each vertex, above its number; zeros, and sorted before ranks are taken
  u32* rank;        // of each vertex: left ones, then right ones
  u64* slots;       // owner above adjacent, by rank; sorted before lists are made
  u64* start;       // of the list of each rank
  u32* adjacent;    // of each slot
  u64* first_path;  // of each slot, and the number of all: zeros, then how many it has, one place on
  u64* units;       // of each root: slots with paths; zeros
  u64* first_word;  // of each root's table, and the number of all: zeros, then as paths
  u64* largest;     // words of a table
  u64* batches;     // roots, slots, paths and words at which batches begin, and the last one ends
  u64* of_slot;     // butterflies, as found from this end of an edge
  u64 *of_edge, *of_vertex;  // of a vertex twice as many; zeros
  u64 n_left, n_vertices, n_edges, n_batches, batch_words;
};

class ButterflySteps {
 public:
  explicit ButterflySteps(const ButterflyLists& lists) : g_(lists) {}

  /// Takes a step for the items of one of some threads.
  void take(ButterflyStep step, u64 thread, u64 n_threads) const {
    const u64 n = n_items(step);
    for (u64 i = thread; i < n; i += n_threads) take(step, i);
  }

 private:
  u64 n_items(ButterflyStep step) const {
    switch (step) {
      case ButterflyStep::kDegrees: return g_.n_vertices + g_.n_edges;
      case ButterflyStep::kLists: return g_.n_vertices + 1 + 2 * g_.n_edges;
      case ButterflyStep::kRanks:
      case ButterflyStep::kTables: return g_.n_vertices;
      case ButterflyStep::kSlots:
      case ButterflyStep::kParts: return g_.n_edges;
      case ButterflyStep::kBatches: return g_.n_batches + 1;
      default: return 2 * g_.n_edges;
    }
  }
  void take(ButterflyStep step, u64 i) const {
    switch (step) {
      case ButterflyStep::kDegrees: return add_degree(i);
      case ButterflyStep::kRanks: g_.rank[low_half(g_.degrees[i])] = static_cast<u32>(i); return;
      case ButterflyStep::kSlots: return make_slots(i);
      case ButterflyStep::kLists: return list(i);
      case ButterflyStep::kPaths: return count_paths(i);
      case ButterflyStep::kLoneUnits:
        if (g_.units[high_half(g_.slots[i])] == 1) g_.first_path[i + 1] = 0;
        return;
      case ButterflyStep::kTables: return size_table(i);
      case ButterflyStep::kBatches: return begin_batch(i);
      case ButterflyStep::kParts: return add_parts(i);
    }
  }

  u32 left_of(u64 edge) const { return row_of(g_.indptr, g_.n_left, edge); }
  u64 right_of(u64 edge) const { return g_.n_left + static_cast<u32>(g_.indices[edge]); }
  u64 slot_of(u32 owner, u32 adjacent) const {
    const u64 first = g_.start[owner];
    return first + n_below(g_.adjacent + first, g_.start[owner + 1] - first, adjacent);
  }

  void add_degree(u64 i) const {
    if (i >= g_.n_vertices) {
      add_alone(g_.degrees + right_of(i - g_.n_vertices), word_of(1, 0));
    } else {
      const u64 degree = i < g_.n_left ? static_cast<u64>(g_.indptr[i + 1] - g_.indptr[i]) : 0;
      add_alone(g_.degrees + i, word_of(static_cast<u32>(degree), static_cast<u32>(i)));
    }
  }
  void make_slots(u64 edge) const {
    const u32 a = g_.rank[left_of(edge)], b = g_.rank[right_of(edge)];
    g_.slots[edge] = word_of(a, b);
    g_.slots[g_.n_edges + edge] = word_of(b, a);
  }
  void list(u64 i) const {
    const u64 n_slots = 2 * g_.n_edges;
    if (i < n_slots)
      g_.adjacent[i] = low_half(g_.slots[i]);
    else
      g_.start[i - n_slots] = n_below(g_.slots, n_slots, (i - n_slots) << 32);
  }
  void count_paths(u64 slot) const {
    const u32 root = high_half(g_.slots[slot]), v = g_.adjacent[slot];
    const u64 paths = v < root ? slot_of(v, root) - g_.start[v] : 0;
    g_.first_path[slot + 1] = paths;
    if (paths) add_alone(g_.units + root, 1);
  }
  void size_table(u64 root) const {
    const u64 paths = g_.first_path[g_.start[root + 1]] - g_.first_path[g_.start[root]], words = 2 * (paths < root ? paths : root);
    g_.first_word[root + 1] = words;
    for (u64 most = read_alone(g_.largest); most < words;) {
      const u64 before = replace_alone(g_.largest, most, words);
      most = before == most ? words : before;
    }
  }
  void begin_batch(u64 i) const {
    const u64 words = i * g_.batch_words + 1, step = g_.n_batches + 1;
    const u64 root = i == 0 ? 0 : i == g_.n_batches ? g_.n_vertices : n_below(g_.first_word + 1, g_.n_vertices, words);
    g_.batches[i] = root;
    g_.batches[step + i] = g_.start[root];
    g_.batches[2 * step + i] = g_.first_path[g_.start[root]];
    g_.batches[3 * step + i] = g_.first_word[root];
  }
  void add_parts(u64 edge) const {
    const u64 left = left_of(edge), right = right_of(edge);
    const u32 a = g_.rank[left], b = g_.rank[right];
    const u64 found = g_.of_slot[slot_of(a, b)] + g_.of_slot[slot_of(b, a)];
    g_.of_edge[edge] = found;
    if (!found) return;
    add_alone(g_.of_vertex + left, found);
    add_alone(g_.of_vertex + right, found);
  }

  const ButterflyLists& g_;
};

}  // namespace bicliq
