// workers.hpp: the threads of a kernel: how they start, what they do together, how they share work,
// and how they end.
//
// A kernel is a `Run`. A thread of its own goes through its stages, so that whoever waits for the
// run can stop it at any time, while a graph is prepared as well as while it is searched. A stage
// may be shared: `each` deals out the items of a short list, `together` sends every worker into one
// long search. Workers are started before they are needed: a thread that is started for a list of a
// millisecond may spend most of it on the processor of the one that started it (`Processors`).
// One that has nothing to do looks for the next stage every 20 µs for a while, since stages follow
// each other closely, and then sleeps until it is woken.
//
// In a search (`Workers`), roots come from a common counter. A worker that finds none left waits; a
// busy worker looks now and then whether somebody waits (`wanted`, two relaxed loads) and hands
// over a part of its own work. The search has ended when every worker waits.
//
// A thread that cannot be started, memory that runs out, and every other exception of a worker end
// the run: the first one is kept, the others are stopped, all threads are joined, and `wait`
// rethrows it.
#pragma once

#include "lanes/errors.hpp"
#include "lanes/types.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>
#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace bicliq {

/// New threads begin on different processors. A system may leave a thread on the processor of the
/// one that started it for as long as 5 ms, with others idle: so measured, in a virtual machine,
/// where that was the whole of an estimate. Each is moved once and may then go where it likes.
class Processors {
 public:
#ifdef __linux__
  /// Those that the calling thread may use, from the one that it is on.
  Processors() : here_(sched_getcpu()), known_(here_ >= 0 && sched_getaffinity(0, sizeof(allowed_), &allowed_) == 0) {}

  /// Moves the calling thread so many processors on.
  void move_on(u32 places) const {
    if (!known_) return;
    int at = here_;
    for (places %= static_cast<u32>(CPU_COUNT(&allowed_)); places > 0;) {
      at = (at + 1) % CPU_SETSIZE;
      if (CPU_ISSET(at, &allowed_)) --places;
    }
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(at, &there);
    sched_setaffinity(0, sizeof(there), &there);
    sched_setaffinity(0, sizeof(allowed_), &allowed_);
  }

 private:
  int here_;
  cpu_set_t allowed_;
  bool known_;
#else
  void move_on(u32) const {}
#endif
};

/// A cache line: what one thread writes again and again stands on other ones than what others read.
constexpr usize kLineBytes = 64;

/// Adds its lifetime to a number of seconds, however a stage ends.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), start_(Clock::now()) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  const Clock::time_point start_;
};

class Run {
 public:
  Run() = default;
  ~Run() { end(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // ---- for the one who waits ------------------------------------------------------------------

  /// Starts the run on a thread of its own.
  void begin(std::function<void()> stages) {
    first_ = start(1, 0, [this, stages = std::move(stages)] {
      guarded(stages);
      is_over_ = true;
      wake_idle();
      for (std::thread& thread : threads_) thread.join();
      threads_.clear();
      const std::lock_guard<std::mutex> lock(mutex_);
      has_ended_ = true;
      ended_.notify_all();
    });
  }
  /// Waits at most so long; true when the run has ended. Rethrows what ended it.
  bool wait(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return has_ended_; });
    if (has_ended_ && error_) std::rethrow_exception(error_);
    return has_ended_;
  }
  /// Asks all workers to end soon.
  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
  }
  /// Stops the run and returns when all of its threads have ended.
  void end() {
    stop();
    if (first_.joinable()) first_.join();
  }

  // ---- for the run's own thread ---------------------------------------------------------------

  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  /// Ends a stage that takes long without looking around, where the run was stopped.
  void check() const {
    if (stopped()) throw Stopped();
  }
  /// How many workers there are; the run's own thread is the first.
  u32 workers() const { return static_cast<u32>(threads_.size()) + 1; }
  /// Sees to it that there are at least so many workers.
  void grow(u32 wanted) {
    const Processors processors;
    threads_.reserve(wanted);
    while (workers() < wanted)
      threads_.push_back(start(wanted, workers(), [this, worker = workers(), processors, seen = stage_.load()] {
        processors.move_on(worker);
        go_along(worker, seen);
      }));
  }
  /// f(worker, item) for every item below n, each once, on the workers that are there.
  void each(u32 n, std::function<void(u32, u32)> f) {
    announce(n, std::move(f));
    while (busy_ > 0) std::this_thread::yield();
    check();
  }
  /// f(worker) once for each of so many workers, all at the same time.
  void together(u32 n_workers, const std::function<void(u32)>& f) {
    grow(n_workers);
    announce(n_workers, [&f](u32, u32 item) { f(item); });
    look_for([this] { return busy_ == 0; });
    check();
  }

 protected:
  std::mutex mutex_;
  std::condition_variable wake_;  // of workers that wait for work

 private:
  static constexpr u32 kLooks = 64;  // some 5 ms

  /// Returns when `is_there`, which whoever makes it so tells by `wake_idle`.
  template <class F>
  void look_for(const F& is_there) {
    for (u32 i = 0; i < kLooks; ++i) {
      if (is_there()) return;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    std::unique_lock<std::mutex> lock(mutex_);
    idle_.wait(lock, is_there);
  }
  void wake_idle() {
    { const std::lock_guard<std::mutex> lock(mutex_); }  // who looked before, sleeps by now
    idle_.notify_all();
  }

  template <class F>
  static std::thread start(u32 wanted, u32 running, F f) {
    try {
      return std::thread(std::move(f));
    } catch (const std::system_error& error) {
      throw CapacityError(std::to_string(wanted - running) + " of " + std::to_string(wanted) + " threads could not be started (" +
                          error.code().message() + "); ask for fewer, or raise the limits of this process (ulimit -u, ulimit -v)");
    }
  }
  template <class F>
  void guarded(F&& f) {
    try {
      f();
    } catch (const Stopped&) {
    } catch (...) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
      stop();
    }
  }

  void announce(u32 n, std::function<void(u32, u32)> f) {
    item_ = std::move(f);
    n_items_ = n;
    next_item_ = 0;
    busy_ = workers() - 1;
    ++stage_;
    wake_idle();
    take_items(0);
  }
  /// A worker's life: stage after stage, from the one after `seen` on.
  void go_along(u32 worker, u32 seen) {
    for (;;) {
      look_for([&] { return stage_ != seen || is_over_; });
      if (stage_ == seen) return;
      ++seen;
      take_items(worker);
      if (--busy_ == 0) wake_idle();
    }
  }
  void take_items(u32 worker) {
    guarded([&] {
      for (u32 i; !stopped() && (i = next_item_.fetch_add(1)) < n_items_;) item_(worker, i);
    });
  }

  std::condition_variable ended_, idle_;
  bool has_ended_ = false;
  std::exception_ptr error_;
  alignas(kLineBytes) std::atomic<bool> stopped_{false};
  alignas(kLineBytes) std::atomic<u32> stage_{0};
  std::atomic<u32> next_item_{0}, busy_{0};
  std::atomic<bool> is_over_{false};
  std::function<void(u32, u32)> item_;
  u32 n_items_ = 0;
  std::vector<std::thread> threads_;  // of all workers but the first
  std::thread first_;
};

/// The workers of a search over roots. A `Given` is a part of the search that any of them can do.
template <class Given>
class Workers : public Run {
 public:
  ~Workers() { end(); }

  /// f(worker) on so many workers, who share these roots.
  void search(u32 n_workers, u64 n_roots, const std::function<void(u32)>& f) {
    n_workers_ = n_workers;
    n_roots_.store(n_roots, std::memory_order_relaxed);
    next_ = done_ = 0;
    waiting_ = queued_ = 0;
    all_wait_ = false;
    queue_.clear();
    together(n_workers, f);
  }
  u64 n_roots() const { return n_roots_.load(std::memory_order_relaxed); }
  u64 roots_done() const { return done_.load(std::memory_order_relaxed); }

  // ---- for a worker ---------------------------------------------------------------------------

  /// The next root, by its place, or nothing when all have been taken.
  std::optional<u64> next_root() {
    if (stopped()) return std::nullopt;
    const u64 i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= n_roots()) return std::nullopt;
    return i;
  }
  void root_done() { done_.fetch_add(1, std::memory_order_relaxed); }

  /// Does a worker wait for whom nothing is queued yet?
  bool wanted() const { return waiting_.load(std::memory_order_relaxed) > queued_.load(std::memory_order_relaxed); }
  void give(Given given) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(given));
      queued_.store(static_cast<i64>(queue_.size()), std::memory_order_relaxed);
    }
    wake_.notify_one();
  }
  /// Waits for something given; nothing when the search has ended.
  std::optional<Given> take() {
    std::unique_lock<std::mutex> lock(mutex_);
    waiting_.fetch_add(1, std::memory_order_relaxed);
    if (waiting_.load(std::memory_order_relaxed) == n_workers_ && queue_.empty()) {
      all_wait_ = true;
      wake_.notify_all();
    }
    wake_.wait(lock, [&] { return !queue_.empty() || all_wait_ || stopped(); });
    if (queue_.empty() || stopped()) return std::nullopt;
    Given given = std::move(queue_.front());
    queue_.pop_front();
    queued_.store(static_cast<i64>(queue_.size()), std::memory_order_relaxed);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    return given;
  }

 private:
  i64 n_workers_ = 0;
  std::atomic<u64> n_roots_{0};
  bool all_wait_ = false;
  std::deque<Given> queue_;
  alignas(kLineBytes) std::atomic<u64> next_{0}, done_{0};       // written for every root
  alignas(kLineBytes) std::atomic<i64> waiting_{0}, queued_{0};  // read very often, written when a worker waits
};

/// How much of a thread's stack is left, for searches that go as deep as their input asks.
#ifdef __linux__
/// Where the calling thread's stack ends, with room for what a level of a search may take.
inline const char* lowest_frame() {
  constexpr usize kRoom = usize{1} << 17;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  void* lowest = nullptr;
  usize bytes = 0;
  pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  return static_cast<const char*>(lowest) + (bytes > 2 * kRoom ? kRoom : bytes / 2);
}
inline bool stack_is_low() {
  static thread_local const char* const lowest = lowest_frame();
  return static_cast<const char*>(__builtin_frame_address(0)) < lowest;
}
#else
inline bool stack_is_low() { return false; }
#endif

}  // namespace bicliq
