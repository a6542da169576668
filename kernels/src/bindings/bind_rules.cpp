// bind_rules.cpp: closed itemsets for Python, and what they give, in batches: itemsets and rules.
#include "bindings/bindings.hpp"
#include "rules/few_items.hpp"
#include "rules/rules.hpp"
#include "rules/set_sink.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace bicliq {
namespace {

using Held = std::shared_ptr<ClosedSets>;

std::vector<u32> numbers_of(const ClosedSets& closed, const Values& ids) {
  std::vector<u32> numbers;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids.data()[i] < 0 || static_cast<u32>(ids.data()[i]) >= closed.n_items()) throw std::invalid_argument("an item is beyond the number of items");
    numbers.push_back(closed.number(static_cast<u32>(ids.data()[i])));
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

/// Itemsets in the layout of an Arrow list column, with their supports.
struct SetBatch {
  std::vector<i32> offsets{0}, items, support;
  void add(const ClosedSets& closed, Numbers set, i32 of_set) {
    RuleBatch::put(closed, set, items, offsets);
    support.push_back(of_set);
  }
  void add(Span ids, i32 of_set) {
    items.insert(items.end(), ids.begin(), ids.end());
    offsets.push_back(static_cast<i32>(items.size()));
    support.push_back(of_set);
  }
};
nb::object python_of(SetBatch batch) { return nb::make_tuple(numpy_of(std::move(batch.offsets)), numpy_of(std::move(batch.items)), numpy_of(std::move(batch.support))); }

/// Closed sets themselves, those that are maximal, or all itemsets below them.
class SetStream {
 public:
  enum class Kind { closed, maximal, all };
  SetStream(Held closed, Kind kind, u64 max_items) : closed_(std::move(closed)), kind_(kind), max_items_(max_items) {
    if (kind_ == Kind::closed) return;
    without_lock([this] { closed_->index(hear_interrupts); });
    if (kind_ == Kind::all) walk_.emplace(*closed_, WalkLimits{false, max_items, {}, {}, hear_interrupts});
  }
  /// About so many sets; None at the end.
  nb::object next(std::size_t n) {
    SetBatch batch;
    without_lock([&] {
      for (u32 looks = 1; batch.support.size() < n && !ended_; ++looks) {
        kind_ == Kind::all ? add_next(batch) : add_closed(batch);
        if (looks % kLooksACheck == 0) hear_interrupts();
      }
    });
    return batch.support.empty() ? nb::none() : python_of(std::move(batch));
  }

 private:
  void add_next(SetBatch& batch) {
    ended_ = !walk_->next();
    if (!ended_) batch.add(*closed_, walk_->set(), closed_->support(walk_->closure()));
  }
  void add_closed(SetBatch& batch) {
    ended_ = at_ == closed_->size();
    if (ended_) return;
    const Span ids = closed_->ids(at_++);
    if (ids.size() > max_items_ || (kind_ == Kind::maximal && closed_->first(closed_->items(at_ - 1), at_, closed_->size()) < closed_->size())) return;
    batch.add(ids, closed_->support(at_ - 1));
  }
  static constexpr u32 kLooksACheck = 256;
  const Held closed_;
  const Kind kind_;
  const u64 max_items_;
  std::optional<Walk> walk_;
  u32 at_ = 0;
  bool ended_ = false;
};

template <class Rules>
class RuleStream {
 public:
  RuleStream(Held closed, double min_confidence, u64 max_items, const Values& antecedent, const Values& consequent) : closed_(std::move(closed)) {
    without_lock([this] { closed_->index(hear_interrupts); });
    RuleLimits limits{min_confidence, max_items, numbers_of(*closed_, antecedent), numbers_of(*closed_, consequent), hear_interrupts};
    rules_ = without_lock([&] { return std::make_unique<Rules>(*closed_, std::move(limits)); });
  }
  nb::object next(std::size_t n) {
    RuleBatch batch;
    without_lock([&] { rules_->fill(batch, n); });
    if (!batch.size()) return nb::none();
    return nb::make_tuple(numpy_of(std::move(batch.antecedent_offsets)), numpy_of(std::move(batch.antecedents)), numpy_of(std::move(batch.consequent_offsets)),
                          numpy_of(std::move(batch.consequents)), numpy_of(std::move(batch.support)), numpy_of(std::move(batch.antecedent_support)),
                          numpy_of(std::move(batch.consequent_support)));
  }

 private:
  const Held closed_;
  std::unique_ptr<Rules> rules_;
};
template <class Rules>
void bind_stream(nb::module_& module, const char* name) {
  nb::class_<RuleStream<Rules>>(module, name)
      .def(nb::init<Held, double, u64, const Values&, const Values&>(), "closed"_a, "min_confidence"_a, "max_items"_a, "antecedent"_a, "consequent"_a)
      .def("next", &RuleStream<Rules>::next, "n"_a);
}

/// Takes the closed itemsets that a search finds.
class SetTaker : public Taker {
 public:
  void set(Settings& settings) override {
    settings.names_rows = false;
    settings.worker = [this](Enumeration& of) { search_sets(sets_, of); };
  }
  Held take(u32 n_items) {
    return shared_apart(without_lock([&] { return std::make_unique<ClosedSets>(sets_.take(), n_items, hear_interrupts); }));
  }

 private:
  SetCollector sets_;
};

}  // namespace

void bind_rules(nb::module_& module) {
  nb::class_<ClosedSets>(module, "ClosedSets").def("__len__", &ClosedSets::size);
  module.def(
      "closed_sets",
      [](const Values& offsets, const Values& items, const Values& support, u32 n_items) {
        check_lists(offsets, items, support.size());
        return shared_apart(without_lock([&] {
          return std::make_unique<ClosedSets>(std::vector<FoundSets>{{copy_of<i32>(offsets), copy_of<i32>(items), copy_of<i32>(support)}}, n_items, hear_interrupts);
        }));
      },
      "offsets"_a, "items"_a, "support"_a, "n_items"_a);
  module.def(
      "few_items",
      [](const Wide& indptr, const Values& indices, u32 n_items, u32 min_support, u64 max_items) {
        const Rows baskets = rows_of(indptr, indices);
        auto found = without_lock([&] { return FewItems(baskets, n_items, min_support, max_items, hear_interrupts).found; });
        return arrays_of(std::move(found.offsets), std::move(found.items), std::move(found.support));
      },
      "indptr"_a, "indices"_a, "n_items"_a, "min_support"_a, "max_items"_a);
  nb::class_<SetTaker, Taker>(module, "SetTaker").def(nb::init<>()).def("take", &SetTaker::take, "n_items"_a);
  nb::enum_<SetStream::Kind>(module, "Itemsets").value("closed", SetStream::Kind::closed).value("maximal", SetStream::Kind::maximal).value("all", SetStream::Kind::all);
  nb::class_<SetStream>(module, "SetStream").def(nb::init<Held, SetStream::Kind, u64>(), "closed"_a, "kind"_a, "max_items"_a).def("next", &SetStream::next, "n"_a);
  bind_stream<NonRedundantRules>(module, "NonRedundantRules");
  bind_stream<AllRules>(module, "AllRules");
}

}  // namespace bicliq
