// sampled_search.hpp: how much a search for maximal bicliques will find, without searching it all.
//
// What it estimates: bicliques and ids in their lists, for a table of thresholds, and the seconds
// that a thread would take.
//
// Method: random ways down the tree of the search, a whole population of nodes at a time. Of all
// roots some are kept, with chances in proportion to a guess of what lies below them
// (thinning.hpp). Each is searched by the search itself, up to a limit; one that has not ended then
// is opened (open_node.hpp), and its children join the next population, which is thinned in turn,
// until no node is left. What a node finds counts as often as its chances say, so sums are right on
// average whatever the guesses are. It is done by several batches, each with random numbers of its
// own, which say how far the sum can be trusted; a node that several batches draw is searched once.
// So it goes in rounds of more and more nodes, each of which learns from the one before what to
// guess (`PowerChoice`), until the work that is allowed is done; the last round is the estimate.
// With all roots kept and none too large, everything has been counted, and all batches agree.
//
// Work is counted in nodes (tuning.hpp), so that a graph and a seed give the same numbers on every
// machine, with any number of threads.
//
// Papers: Knuth, Estimating the efficiency of backtrack programs, 1975; Chen, Heterogeneous
// sampling, 1992; Vaisman and Kroese, Stochastic enumeration for counting trees, 2017.
#pragma once

#include "search/crew.hpp"
#include "search/delivered_roots.hpp"
#include "search/mbe.hpp"
#include "search/roots.hpp"
#include "estimate/open_node.hpp"
#include "estimate/thinning.hpp"

#include <cmath>
#include <ctime>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace bicliq {

constexpr u32 kBatches = 16;
constexpr u32 kTimesMoreNodes = 4;                   // a round
constexpr u32 kNodesATask = 512;                      // nodes whose findings are held at a time
constexpr double kMostShare = 16;                    // times the work that is allowed for any search
constexpr double kDoubt = 1.5;                       // everything is searched where so many times what is expected may be
constexpr double kEdgesANode = 16;                   // of a root: looked at in the time of a node
constexpr double kRootPower = 1, kNodePower = 1.5;   // of guesses, in the first round
constexpr u64 kTimedNodes = 64;                      // searches of so many nodes say how long a node takes

struct SampleSettings {
  Limits limits;
  std::vector<u32> row_steps, column_steps;
  u64 work = 0;         // that all may take, in nodes
  double share = 0;     // of the work of the search, which it may take instead where that is more
  u64 node_work = 0;    // after which a node is opened instead
  u64 first_nodes = 0;  // a batch and population, in the first round
  u64 seed = 0;
  u32 threads = 1;
};

/// The workers as a search sees them that is alone and may only do so much.
class LoneWorker {
 public:
  static constexpr bool kKeepsGiven = false;
  using Block = Parcel;
  LoneWorker(const Crew& crew, u64 work) : crew_(crew), most_polls_(work / kNodesAPoll + 1) {}

  bool stopped() { return ++polls_ > most_polls_ || crew_.stopped(); }
  bool wanted() const { return false; }
  Block block(usize) const { return {}; }
  void give(Parcel&&, const Subtree&) const {}
  void overflow() const {}

  bool is_done() const { return polls_ <= most_polls_; }
  u64 work() const { return polls_ * kNodesAPoll; }

 private:
  const Crew& crew_;
  const u64 most_polls_;
  u64 polls_ = 0;
};

/// Seconds of the processor that a thread has had since.
class CoreTime {
 public:
  double passed() const { return now() - start_; }

 private:
  static double now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  const double start_ = now();
};

/// What a search takes. To open a node for a sample, and to begin a search below each of its
/// children, takes many times as long as a node of the search does; so where that may be most of
/// it, nodes are counted, and what they take is told by those of larger searches.
struct Cost {
  double seconds = 0, timed_seconds = 0;           // of roots; of the nodes that were timed
  double timed_nodes = 0, other_nodes = 0;

  double nodes() const { return timed_nodes + other_nodes; }
  double all_seconds() const {
    return seconds + timed_seconds + (timed_nodes > 0 ? other_nodes * timed_seconds / timed_nodes : 0);
  }
  void add(double weight, const Cost& more) {
    seconds += weight * more.seconds;
    timed_seconds += weight * more.timed_seconds;
    timed_nodes += weight * more.timed_nodes;
    other_nodes += weight * more.other_nodes;
  }
};

/// One estimate of everything.
struct Sums {
  explicit Sums(std::size_t cells = 0) : found(cells, 0), ids(cells, 0) {}
  std::vector<double> found, ids;
  double work = 0;
  Cost cost;

  void add(double weight, const CellCounts& sizes, double more_work, const Cost& more_cost) {
    for (std::size_t i = 0; i < found.size(); ++i)
      if (sizes.found[i]) {
        found[i] += weight * static_cast<double>(sizes.found[i]);
        ids[i] += weight * static_cast<double>(sizes.ids[i]);
      }
    work += weight * more_work;
    cost.add(weight, more_cost);
  }
};

class SampledSearch {
 public:
  SampledSearch(const SampleSettings& settings, Crew& crew)
      : settings_(settings), crew_(crew), rows_(settings.row_steps), columns_(settings.column_steps) {}

  /// In the order of the batches; the sum of what all of them share is in each.
  std::vector<Sums> batches;
  u64 work = 0;        // done for this estimate
  bool exact = false;  // was everything searched?

  /// `short_rows`: where the search opens its roots from these.
  void run(const Graph& graph, const ShortRows* short_rows) {
    graph_ = &graph;
    short_rows_ = short_rows;
    crew_.grow(settings_.threads);
    count_paths();
    for (u64 n = settings_.first_nodes; n;) {
      const u64 before = work;
      round(n, settings_.node_work);
      n = exact ? 0 : next_size(n, work - before);
      if (n) learn();
      if (!n || expected_work() * kDoubt > static_cast<double>(left())) continue;
      round(paths_.size(), left());  // all of it is no more
      n = 0;
    }
  }

 private:
  /// A node of a population: a root, or a child of an opened node.
  struct Item {
    u32 parent, child, place;                     // of the parent among those opened; of the item in its population
    bool by_all;                                  // counts once in every batch
    std::vector<std::pair<u32, double>> weights;  // else: batches that drew it, and how often it counts in each

    double weight_in(u32 batch) const {
      for (const auto& [b, weight] : weights)
        if (b == batch) return weight;
      return by_all ? 1 : 0;
    }
  };
  struct Findings {
    CellCounts sizes;
    double work = 0;                 // of the search
    Cost cost;                       // but for what is below an opened node
    double spent = 0, opening = 0;    // its work with what was given up; work of making nodes
    std::unique_ptr<OpenNode> open;  // where there is more below
    double paths = 0;                // of a child
    PowerSums powers{};              // of the paths of its children
  };
  struct Worker {
    Worker(const SampledSearch& of)
        : sink(of.settings_.limits, of.rows_, of.columns_), roots(*of.graph_, of.settings_.limits, of.crew_, sink),
          opener(*of.graph_, of.settings_.limits) {
      if (of.short_rows_) delivered.emplace(*of.short_rows_, of.settings_.limits.min_rows, sink);
    }
    SizeSink sink;
    Roots<SizeSink> roots;
    std::optional<DeliveredRoots<SizeSink>> delivered;
    NodeOpener opener;
    Workspace memory;
  };

  std::size_t cells() const { return std::size_t{rows_.size()} * columns_.size(); }

  /// The work that is still allowed.
  u64 left() const {
    const double share = std::min(settings_.share * expected_work(), kMostShare * static_cast<double>(settings_.work));
    const u64 most = std::max(settings_.work, static_cast<u64>(share));
    return most > work ? most - work : 0;
  }
  double expected_work() const {
    double sum = 0;
    for (const Sums& sums : batches) sum += sums.work;
    return sum / kBatches;
  }
  /// The size of the next round, or 0 where the work that is allowed is done.
  u64 next_size(u64 n, u64 spent) const {
    const double times = std::min<double>(kTimesMoreNodes, static_cast<double>(left()) / (static_cast<double>(spent) + 1));
    return times < 1.5 ? 0 : static_cast<u64>(static_cast<double>(n) * times);
  }

  void count_paths() {
    const Graph& g = *graph_;
    paths_.assign(g.n_columns, 0);
    std::vector<u32> passed(g.n_rows, 0);
    for (u32 v = 0; v < g.n_columns; ++v) {
      double paths = 1 + g.column_degree(v) / 8.0;
      for (u64 e = g.column_start[v]; e < g.column_start[v + std::size_t{1}]; ++e) {
        const u32 r = g.column_rows[e];
        paths += g.row_degree(r) - ++passed[r];
      }
      if (g.column_degree(v) >= settings_.limits.min_rows) paths_[v] = paths;
      scale_ = std::max(scale_, paths_[v]);
    }
  }

  void round(u64 n, u64 node_work) {
    node_work_ = node_work;
    batches.assign(kBatches, Sums(cells()));
    shared_ = Sums(cells());
    random_.clear();
    for (u32 b = 0; b < kBatches; ++b) random_.emplace_back((settings_.seed * kBatches + b) * 0x9e3779b97f4a7c15u + n);
    populations_.clear();
    opened_.clear();
    std::vector<Item> items = draw_roots(n);
    exact = threshold_ == 0;
    while (!items.empty()) {
      std::vector<std::unique_ptr<OpenNode>> opened;
      populations_.emplace_back(items.size());
      search(items, opened);
      exact = exact && opened.empty();
      opened_.swap(opened);
      items = draw_children(n);
    }
    for (Sums& sums : batches) {
      for (std::size_t i = 0; i < cells(); ++i) {
        sums.found[i] += shared_.found[i];
        sums.ids[i] += shared_.ids[i];
      }
      sums.work += shared_.work;
      sums.cost.add(1, shared_.cost);
    }
  }

  /// What one batch draws: place of the parent, of the child, and how often it counts.
  struct Drawn {
    u32 parent, child, batch;
    double weight;
    bool operator<(const Drawn& other) const {
      return std::tie(parent, child, batch) < std::tie(other.parent, other.child, other.batch);
    }
  };

  std::vector<Item> draw_roots(u64 n) {
    std::vector<double> worth(paths_.size(), 0);
    for (u32 v = 0; v < worth.size(); ++v)
      if (paths_[v] > 0) worth[v] = std::pow(paths_[v] / scale_, root_power_);
    threshold_ = threshold_for(worth, n);
    std::vector<Item> items;
    for (u32 v = 0; v < worth.size(); ++v)
      if (worth[v] > 0 && worth[v] >= threshold_) items.push_back({v, 0, 0, true, {}});
    std::vector<Drawn> drawn;
    for (u32 b = 0; b < kBatches && threshold_ > 0; ++b)
      thin(worth, threshold_, random_[b], [&](std::size_t v, double factor) {
        if (worth[v] < threshold_) drawn.push_back({static_cast<u32>(v), 0, b, factor});
      });
    return merged(std::move(items), std::move(drawn));
  }

  std::vector<Item> draw_children(u64 n) {
    std::vector<std::vector<Drawn>> drawn(kBatches);
    crew_.each(parents_.empty() ? 0 : kBatches, [&](u32, u32 b) { drawn[b] = draw_children(n, b); });
    for (u32 b = 1; b < kBatches; ++b) drawn[0].insert(drawn[0].end(), drawn[b].begin(), drawn[b].end());
    return merged({}, std::move(drawn[0]));
  }
  std::vector<Drawn> draw_children(u64 n, u32 batch) {
    std::vector<Drawn> all, kept;
    std::vector<double> worth;
    for (u32 i = 0; i < parents_.size(); ++i) {
      const double weight = parents_[i].weight_in(batch);
      const std::vector<double>& guesses = opened_[i]->guesses;
      for (u32 k = 0; weight > 0 && k < guesses.size(); ++k) {
        all.push_back({i, k, batch, weight});
        worth.push_back(weight * guesses[k]);
      }
    }
    thin(worth, threshold_for(worth, n), random_[batch], [&](std::size_t at, double factor) {
      kept.push_back(all[at]);
      kept.back().weight *= factor;
    });
    return kept;
  }
  /// One item for all batches that drew it, behind the others.
  static std::vector<Item> merged(std::vector<Item> items, std::vector<Drawn> drawn) {
    std::sort(drawn.begin(), drawn.end());
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (i == 0 || drawn[i].parent != drawn[i - 1].parent || drawn[i].child != drawn[i - 1].child)
        items.push_back({drawn[i].parent, drawn[i].child, 0, false, {}});
      items.back().weights.push_back({drawn[i].batch, drawn[i].weight});
    }
    return items;
  }

  /// Searches items, adds what they find, and collects the nodes that were opened.
  void search(std::vector<Item>& items, std::vector<std::unique_ptr<OpenNode>>& opened) {
    std::vector<Item> parents;
    workers_.resize(crew_.workers());
    for (std::size_t from = 0; from < items.size(); from += kNodesATask) {
      const u32 n = static_cast<u32>(std::min<std::size_t>(kNodesATask, items.size() - from));
      std::vector<Findings> findings(n);
      crew_.each(n, [&](u32 worker, u32 i) {
        if (!workers_[worker]) workers_[worker] = std::make_unique<Worker>(*this);
        findings[i] = opened_.empty() ? search_root(*workers_[worker], items[from + i].parent)
                                      : search_child(*workers_[worker], *opened_[items[from + i].parent], items[from + i].child);
      });
      for (u32 i = 0; i < n; ++i) {
        account(items[from + i], findings[i]);
        populations_.back()[from + i] = sampled(items[from + i], findings[i]);
        if (!findings[i].open) continue;
        opened.push_back(std::move(findings[i].open));
        parents.push_back(std::move(items[from + i]));
        parents.back().place = static_cast<u32>(from + i);
      }
    }
    parents_.swap(parents);
  }

  /// What is learnt from an item.
  struct Sampled {
    u32 parent = 0;
    double paths = 0, times = 0;     // how often it counts, summed over the batches
    double found = 0, work = 0;      // of itself; then with all below it
    PowerSums powers{};              // of the paths of its children
  };
  Sampled sampled(const Item& item, const Findings& f) const {
    Sampled s;
    s.parent = item.parent;
    s.paths = opened_.empty() ? paths_[item.parent] : f.paths;
    s.times = item.by_all ? kBatches : 0;
    for (const auto& [batch, weight] : item.weights) s.times += weight;
    for (u64 n : f.sizes.found) s.found += static_cast<double>(n);
    s.work = f.work;
    s.powers = f.powers;
    if (!opened_.empty()) s.parent = parents_[item.parent].place;
    return s;
  }
  /// Chooses the powers of the next round.
  void learn() {
    for (std::size_t d = populations_.size(); d-- > 1;)
      for (const Sampled& child : populations_[d]) {
        Sampled& parent = populations_[d - 1][child.parent];
        parent.found += child.found * child.times / parent.times;
        parent.work += child.work * child.times / parent.times;
      }
    double found = 1e-9, all_work = 1e-9;
    for (const Sampled& s : populations_[0]) {
      found += s.times * s.found;
      all_work += s.times * s.work;
    }
    PowerChoice roots, below;
    for (std::size_t d = 0; d < populations_.size(); ++d) {
      PowerSums guesses{}, squares{};
      for (const Sampled& s : populations_[d]) {
        const double size = s.found / found + s.work / all_work;
        PowerSums own{};
        add_powers(own, s.paths, scale_, 1);
        for (std::size_t k = 0; k < own.size(); ++k) squares[k] += s.times * size * size / own[k];
      }
      if (d == 0)
        for (double paths : paths_) {
          if (paths > 0) add_powers(guesses, paths, scale_, 1);
        }
      else
        for (const Sampled& s : populations_[d - 1])
          for (std::size_t k = 0; k < guesses.size(); ++k) guesses[k] += s.times * s.powers[k];
      (d == 0 ? roots : below).add(guesses, squares);
    }
    root_power_ = roots.best(root_power_);
    node_power_ = below.best(node_power_);
  }

  void account(const Item& item, const Findings& f) {
    work += static_cast<u64>(std::max(f.work, f.spent) + f.opening);
    if (item.by_all) return shared_.add(1, f.sizes, f.work, f.cost);
    for (const auto& [batch, weight] : item.weights) batches[batch].add(weight, f.sizes, f.work, f.cost);
  }

  Findings search_root(Worker& w, u32 v) {
    if (!w.delivered) return search_root(w, w.roots, v, v);
    return search_root(w, *w.delivered, v, v - (graph_->n_columns - short_rows_->size()));  // the last ones, in the same order
  }
  template <class AnyRoots>
  Findings search_root(Worker& w, AnyRoots& roots, u32 v, u32 place) {
    const CoreTime start;
    Findings f;
    w.sink.clear();
    const bool more = roots.open(place);
    f.cost.seconds = start.passed();
    f.cost.other_nodes = static_cast<double>(std::exchange(roots.nodes, 0));
    f.work = 1 + paths_[v] / kEdgesANode;
    f.sizes = w.sink.sizes;
    if (more && !search_below(w, roots.tree(), f)) open(w, std::make_unique<OpenNode>(w.opener.root(v)), f);
    f.opening = opening_work(w);
    return f;
  }
  Findings search_child(Worker& w, const OpenNode& parent, u32 place) {
    Findings f;
    w.sink.clear();
    auto node = std::make_unique<OpenNode>();
    const bool is_new = w.opener.child(parent, place, *node);
    f.work = kNodesAPoll;
    f.paths = std::pow(parent.guesses[place], 1 / node_power_) * scale_;
    if (is_new) w.sink.found(nullptr, node->n_rows, *node);
    f.cost.other_nodes = is_new;
    f.sizes = w.sink.sizes;
    if (is_new && promising(*node)) {
      w.memory.release({});
      if (!search_below(w, w.opener.subtree(*node, w.memory), f)) open(w, std::move(node), f);
    }
    f.opening = opening_work(w);
    return f;
  }
  /// Work of making nodes for a sample, since it was last asked for.
  static double opening_work(Worker& w) { return static_cast<double>(std::exchange(w.opener.edges, 0)) / kEdgesANode; }
  bool promising(const OpenNode& node) const {
    return !node.candidates.empty() && settings_.limits.reached(node.n_rows, u64{node.n} + node.candidates.size());
  }
  /// Adds what is found below a node; false, and nothing, where that is too much.
  bool search_below(Worker& w, const Subtree& tree, Findings& f) {
    LoneWorker alone(crew_, node_work_);
    MaximalBicliques<SizeSink, LoneWorker, Workspace> search(settings_.limits, alone, w.sink, w.memory);
    const CoreTime start;
    search.search(tree);
    f.spent = f.work + static_cast<double>(std::max(alone.work(), search.nodes));
    if (!alone.is_done()) return false;
    f.work = f.spent;
    f.sizes = w.sink.sizes;
    const auto nodes = static_cast<double>(search.nodes);
    if (search.nodes < kTimedNodes) {
      f.cost.other_nodes += nodes;
    } else {
      f.cost.timed_nodes = nodes;
      f.cost.timed_seconds = start.passed();
    }
    return true;
  }
  void open(Worker& w, std::unique_ptr<OpenNode> node, Findings& f) {
    w.opener.guess(*node);
    for (double paths : node->guesses) add_powers(f.powers, paths, scale_, 1);
    for (double& guess : node->guesses) guess = std::pow(guess / scale_, node_power_);
    f.open = std::move(node);
  }

  const SampleSettings settings_;
  Crew& crew_;
  const Steps rows_, columns_;
  const Graph* graph_ = nullptr;
  const ShortRows* short_rows_ = nullptr;
  std::vector<double> paths_;  // of two edges, from each root to later ones
  double scale_ = 1;           // the most of them
  double root_power_ = kRootPower, node_power_ = kNodePower;
  double threshold_ = 0;
  u64 node_work_ = 0;
  std::vector<Random> random_;
  std::vector<std::unique_ptr<OpenNode>> opened_;  // of the population before
  std::vector<Item> parents_;                      // their items
  std::vector<std::vector<Sampled>> populations_;  // of this round
  std::vector<std::unique_ptr<Worker>> workers_;
  Sums shared_;
};

}  // namespace bicliq
