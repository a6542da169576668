// enumeration.hpp: one enumeration from start to end: its threads, its batches, its progress.
//
// The run starts with the constructor: it prepares the graph, then searches it. Workers push full
// batches, or the row groups that they made of them, into a queue of bounded length, so memory
// stays bounded however many bicliques there are; a consumer that has had enough calls `end`. A
// worker that makes row groups fills one buffer again and again. Roots are searched from the last
// (the vertex of largest degree) to the first, since heavy roots are there.
#pragma once

#include "search/delivered_roots.hpp"
#include "search/sinks.hpp"
#include "graphs/graph.hpp"

#include <chrono>
#include <numeric>

namespace bicliq {

struct RowGroup;  // output/row_group.hpp

/// A row group in the making.
struct OpenRowGroup {
  virtual ~OpenRowGroup() = default;
  virtual void add(const Batch& piece) = 0;
  /// What was added; nothing of it is left.
  virtual std::shared_ptr<RowGroup> finish() = 0;
};

/// What a worker hands over: a batch, or the row group that it made of one. Neither: nothing yet.
struct Delivery {
  std::unique_ptr<Batch> batch;
  std::shared_ptr<RowGroup> group;
};

enum class Mode { count, digest, enumerate };

class Enumeration;

struct Settings {
  Mode mode = Mode::count;
  Limits limits;
  u64 max_bicliques = ~0ull;
  u32 threads = 1;
  std::size_t batch_bicliques = 65536, batch_ids = 1 << 20;
  std::function<std::unique_ptr<OpenRowGroup>()> encoder;  // of a worker; empty where batches are wanted
  std::function<void(Enumeration&)> worker;  // what each does that has another sink: `Enumeration::search`
  bool names_rows = true;  // whether such a worker asks which rows a biclique has
  bool places = false;  // it takes batches whose lists hold places of ids

  /// Must the search know who is in a biclique, or is it enough to count?
  bool needs_members() const { return mode != Mode::count; }
  /// Must it know how large both sides are?
  bool needs_sizes() const { return limits.min_columns > 1 || limits.min_edges > std::max(limits.min_rows, 1u); }
};

/// Who takes what an enumeration finds, where it is not a batch; the search holds it.
class Taker {
 public:
  virtual ~Taker() = default;
  /// Says in the settings what it needs: a `worker` with a sink of its own, or an `encoder`.
  virtual void set(Settings& settings) = 0;
};

/// What is searched: a CSR matrix of the left side, which the caller keeps, and how.
struct Request {
  const std::int64_t* indptr;
  const std::int32_t* indices;
  u32 n_left, n_right;
  bool columns_are_left;
  /// Only these vertices as roots, and all in this order (none: that of their numbers); else all,
  /// by ascending degree.
  bool some_roots;
  std::vector<u32> roots, order;
  std::vector<std::int32_t> left_ids, right_ids;
  std::vector<u64> left_hashes, right_hashes;  // of the labels
};

class Enumeration {
 public:
  Enumeration(Request request, const Settings& settings)
      : request_(std::move(request)), settings_(settings), pool_(std::make_shared<BatchPool>(settings.threads)) {
    crew_.begin([this] { run(); });
  }
  ~Enumeration() { end(); }
  Enumeration(const Enumeration&) = delete;
  Enumeration& operator=(const Enumeration&) = delete;

  /// The next batch or row group; nothing when `seconds` have passed or the search has ended.
  Delivery next(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !batches_.empty() || all_delivered_; });
    if (batches_.empty()) return {};
    Delivery next = std::move(batches_.front());
    batches_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return next;
  }
  /// Waits at most so long; true when the search has ended. Rethrows what ended it.
  bool wait(double seconds) { return crew_.wait(seconds); }
  /// Has the search ended, and have all batches been read? Rethrows what ended it.
  bool ended() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!all_delivered_ || !batches_.empty()) return false;
    }
    return crew_.wait(1.0);  // no more than its threads' last steps
  }
  /// Ends the search and drops the batches that nobody has read.
  void end() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      cancelled_ = true;
    }
    changed_.notify_all();
    crew_.end();
    batches_.clear();
  }

  /// Of a worker, while it is at work: ids and hashes, what is wanted, and whom to tell.
  const Labels& labels() const { return labels_; }
  const Limits& limits() const { return settings_.limits; }
  Tally tally() { return {found_, settings_.max_bicliques, crew_}; }
  /// Searches roots, then what others give away, until nothing is left.
  template <class Sink>
  void search(Sink& sink);  // worker_search.hpp

  /// Where batches that were read go.
  const std::shared_ptr<BatchPool>& pool() const { return pool_; }

  u64 found() const { return found_.load(std::memory_order_relaxed); }
  u64 roots_done() const { return crew_.roots_done(); }
  u64 n_roots() const { return crew_.n_roots(); }
  u64 digest() const { return digest_; }
  u64 nodes() const { return nodes_; }
  u64 dropped() const { return dropped_; }
  u64 workspace_bytes() const { return workspace_; }
  double prepare_seconds() const { return prepare_seconds_; }
  double search_seconds() const { return search_seconds_; }
  const std::vector<double>& busy_seconds() const { return busy_; }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

  /// Whatever ends the run, nobody waits for another batch.
  struct LastBatch {
    Enumeration& of;
    ~LastBatch() {
      {
        const std::lock_guard<std::mutex> lock(of.mutex_);
        of.all_delivered_ = true;
      }
      of.changed_.notify_all();
    }
  };
  /// The run's own thread, from the arrays to the last batch.
  void run() {
    const LastBatch last_batch{*this};
    {
      const Stopwatch watch(prepare_seconds_);
      prepare_all();
    }
    const Stopwatch watch(search_seconds_);
    crew_.search(settings_.threads, request_.roots.size(), [this](u32) { work(); });
  }
  void prepare_all() {
    Request& r = request_;
    const u32 n_columns = r.columns_are_left ? r.n_left : r.n_right;
    const auto check = [this] { crew_.check(); };
    if (!r.some_roots || (r.order.empty() && r.roots.size() == n_columns))
      short_rows_ = short_rows({r.indptr, r.indices, r.n_left}, r.n_right, r.columns_are_left, settings_.limits, names_rows(), check);
    if (short_rows_) {
      const std::vector<u32>& order = short_rows_->vertices();
      if (!r.some_roots || std::is_sorted(order.begin(), order.end())) return prepare_delivered();
      short_rows_.reset();
    }
    const bool by_number = r.some_roots && r.order.empty(), by_order = r.some_roots && !by_number;
    if (by_number) r.order = first_numbers(n_columns);
    graph_ = prepare(r.indptr, r.indices, r.n_left, r.n_right, r.columns_are_left, std::move(r.order), check);
    if (settings_.needs_members()) make_labels();
    if (by_order) number_roots();
    if (!r.some_roots) r.roots = first_numbers(graph_.n_columns);
  }
  bool names_rows() const { return settings_.worker ? settings_.names_rows : settings_.needs_members(); }
  void prepare_delivered() {
    graph_.vertex_of_column = short_rows_->vertices();
    request_.roots = first_numbers(short_rows_->size());
    if (settings_.needs_members()) make_labels();
  }
  template <class Roots, class Search>
  void search_roots(Roots roots, Search& search);
  static std::vector<u32> first_numbers(u32 n) {
    std::vector<u32> numbers(n);
    std::iota(numbers.begin(), numbers.end(), 0u);
    return numbers;
  }
  /// Roots as places in the search order.
  void number_roots() {
    std::vector<u32> column_of(graph_.n_columns);
    for (u32 c = 0; c < graph_.n_columns; ++c) column_of[graph_.vertex_of_column[c]] = c;
    for (u32& root : request_.roots) root = column_of[root];
  }
  void make_labels() {
    const bool columns_are_left = request_.columns_are_left;
    const std::vector<std::int32_t>& column_ids = columns_are_left ? request_.left_ids : request_.right_ids;
    const u64 row_seed = columns_are_left ? kRightSeed : kLeftSeed, column_seed = columns_are_left ? kLeftSeed : kRightSeed;
    labels_.columns_are_left = columns_are_left;
    labels_.row_ids = columns_are_left ? request_.right_ids : request_.left_ids;
    labels_.rows_ascend = std::is_sorted(labels_.row_ids.begin(), labels_.row_ids.end());
    const std::vector<u64>& column_hashes = columns_are_left ? request_.left_hashes : request_.right_hashes;
    for (u64 hash : columns_are_left ? request_.right_hashes : request_.left_hashes)
      labels_.row_hashes.push_back(vertex_hash(hash, row_seed));
    crew_.check();
    for (u32 v : graph_.vertex_of_column) {
      labels_.column_ids.push_back(column_ids[v]);
      labels_.column_hashes.push_back(vertex_hash(column_hashes[v], column_seed));
    }
    crew_.check();
  }

  void work() {
    if (settings_.worker) {
      settings_.worker(*this);
    } else if (!settings_.needs_members() && settings_.needs_sizes()) {
      SizedCountSink sink(settings_.limits, tally());
      search(sink);
    } else if (!settings_.needs_members()) {
      CountSink sink(tally());
      search(sink);
    } else {
      MemberSink::Deliver deliver;
      std::unique_ptr<OpenRowGroup> group = settings_.encoder ? settings_.encoder() : nullptr;
      if (settings_.mode == Mode::enumerate)
        deliver = [&](std::unique_ptr<Batch> b, bool complete) { this->deliver(std::move(b), group.get(), complete); };
      const bool places = settings_.places && labels_.row_ids.size() + labels_.column_ids.size() <= kMostPlaced;
      MemberSink sink(labels_, settings_.limits, tally(), deliver, places, settings_.batch_bicliques, settings_.batch_ids, *pool_);
      search(sink);
    }
  }

  void deliver(std::unique_ptr<Batch> batch, OpenRowGroup* group, bool complete) {
    if (!group) return push({std::move(batch), nullptr});
    group->add(*batch);
    pool_->give(std::move(batch));
    if (complete) push({nullptr, group->finish()});
  }
  void push(Delivery full) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return cancelled_ || batches_.size() < 2 * static_cast<std::size_t>(settings_.threads); });
    if (cancelled_) return;
    batches_.push_back(std::move(full));
    lock.unlock();
    changed_.notify_all();
  }

  Request request_;
  const Settings settings_;
  const std::shared_ptr<BatchPool> pool_;
  Graph graph_;
  std::unique_ptr<ShortRows> short_rows_;  // in its place where rows are many
  Labels labels_;
  std::atomic<u64> found_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Delivery> batches_;
  bool cancelled_ = false, all_delivered_ = false;
  u64 digest_ = 0, nodes_ = 0, dropped_ = 0, workspace_ = 0;
  double prepare_seconds_ = 0, search_seconds_ = 0;
  std::vector<double> busy_;
  Crew crew_;  // last: its threads use all that is above
};

}  // namespace bicliq
