// row_settler.hpp: what bicliques of subgraphs change, settled while they are found.
//
// What it does: a thread of the search settles each batch that it has filled, and fills it again.
// So the lists are read from the cache that they were written to, and only what is kept takes fresh
// memory (a page of it costs as much as a dozen bicliques). Input: batches in the numbers of the
// subgraphs, in which the bicliques of a change follow each other: roots are searched change by
// change. Where a change goes on in another batch, what its subgraph reaches is known already. As
// long as there are few bicliques, batches are kept: if it stays so, lists are made of them.
#pragma once

#include "enumeration/batch.hpp"
#include "enumeration/changes.hpp"
#include "enumeration/found_changes.hpp"
#include "enumeration/smaller_rows.hpp"
#include "lanes/pool.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace bicliq {
inline namespace BICLIQ_ISA {

/// The subgraphs of the changes from `first` on: vertices and changes that their numbers stand for,
/// and where each begins.
struct Subgraphs {
  const i32 *left_of, *right_of, *change_of;
  const std::int64_t *left_start, *right_start;
  i32 first;
  Span left_side(i32 change) const { return side(left_of, left_start, change - first); }
  Span right_side(i32 change) const { return side(right_of, right_start, change - first); }
  i32 left_base(i32 change) const { return static_cast<i32>(left_start[change - first]); }
  i32 right_base(i32 change) const { return static_cast<i32>(right_start[change - first]); }

 private:
  static Span side(const i32* vertices, const std::int64_t* start, i32 number) { return {vertices + start[number], vertices + start[number + 1]}; }
};

/// A biclique of a subgraph, as places in its sides and as vertices.
struct Settled {
  Places left_places, right_places;
  Span left, right;
};

/// What the threads of a search find, as rows.
struct FoundRows {
  FoundChanges others;  // what vanished and others may find as well, as lists
  std::vector<SmallerRows> appeared, gone;
};

class RowSettler {
 public:
  using Kept = std::vector<std::unique_ptr<Batch>>;
  /// Rows are made where `few` bicliques or more are met.
  RowSettler(const ChangedGraph& graph, const Remains::Least& least, const RowVertices& vertices, const Subgraphs& subgraphs, FoundRows& to,
             std::size_t few)
      : graph_(graph), least_(least), vertices_(vertices), subgraphs_(subgraphs), to_(to), few_(few) {}

  /// Settles a batch and gives it back, or keeps it.
  std::unique_ptr<Batch> operator()(std::unique_ptr<Batch> batch) {
    Kept due;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      met_ += batch->size();
      if (are_few()) {
        kept_.push_back(std::move(batch));
        return nullptr;
      }
      for (int i = 0; i < kCaughtUp && !kept_.empty(); ++i) {
        due.push_back(std::move(kept_.back()));
        kept_.pop_back();
      }
    }
    for (const std::unique_ptr<Batch>& one : due) settle(*one);
    settle(*batch);
    return batch;
  }
  /// Hands over what was found, when all threads have ended; if that is little, the batches
  /// themselves (`are_few`).
  Kept finish() {
    if (are_few()) return std::exchange(kept_, {});
    for (const std::unique_ptr<Batch>& one : kept_) settle(*one);
    kept_.clear();
    for (const std::unique_ptr<Desk>& one : free_.empty()) to_.appeared.push_back(std::move(one->appeared)), to_.gone.push_back(std::move(one->gone));
    return {};
  }
  bool are_few() const { return met_ < few_; }

 private:
  static constexpr int kCaughtUp = 2;  // kept batches that are settled with the next one, so that all threads share them

  void settle(const Batch& batch) {
    std::unique_ptr<Desk> own = free_.take([&] { return std::make_unique<Desk>(graph_, least_, vertices_, subgraphs_); });
    own->settle(batch, subgraphs_, to_.others);
    free_.give(std::move(own));
  }
  /// What a thread settles with, and what it has found.
  struct Desk {
    Desk(const ChangedGraph& graph, const Remains::Least& least, const RowVertices& vertices, const Subgraphs& subgraphs)
        : remains(graph, least), writer(vertices, subgraphs.left_of, subgraphs.right_of) {}
    void settle(const Batch& batch, const Subgraphs& subgraphs, FoundChanges& others) {
      Without without{writer, gone};
      Places left{}, right{};
      std::size_t end = 0;  // of the bicliques of this change
      for (std::size_t k = 0; k < batch.size(); ++k) {
        left.members = list(batch.left, k), right.members = list(batch.right, k);
        if (k == end) {
          const i32 change = subgraphs.change_of[*left.members.first];
          end = end_of(batch, k, subgraphs.change_of);
          remains.change(change, end - k, subgraphs.left_side(change), subgraphs.right_side(change));
          left.base = subgraphs.left_base(change), right.base = subgraphs.right_base(change);
        }
        writer.take(left.members, right.members);
        if (remains.take(Settled{left, right, writer.left(), writer.right()}, without, others)) writer.put(appeared);
      }
    }
    Remains remains;
    RowWriter writer;
    SmallerRows appeared, gone;
  };
  struct Without {
    const RowWriter& writer;
    SmallerRows& to;
    void without_left(const Settled&, std::size_t member) { writer.put_without_left(to, member); }
    void without_right(const Settled&, std::size_t member) { writer.put_without_right(to, member); }
  };
  static Span list(const IdLists& lists, std::size_t k) { return {lists.ids() + lists.offsets()[k], lists.ids() + lists.offsets()[k + 1]}; }
  static std::size_t end_of(const Batch& batch, std::size_t k, const i32* change_of) {
    const auto change = [&](std::size_t i) { return change_of[*list(batch.left, i).first]; };
    const i32 own = change(k);
    while (++k < batch.size() && change(k) == own) continue;
    return k;
  }

  const ChangedGraph& graph_;
  const Remains::Least least_;
  const RowVertices& vertices_;
  const Subgraphs subgraphs_;
  FoundRows& to_;
  const std::size_t few_;
  std::size_t met_ = 0;
  Kept kept_;
  std::mutex mutex_;
  Pool<Desk> free_{~std::size_t{0}};  // as many as threads have searched
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
