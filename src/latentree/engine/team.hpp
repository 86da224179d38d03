// Threads that live for one call: no state survives it, so forking between calls is safe.
#pragma once
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "plan.hpp"

namespace latentree {

class Team {
 public:
  explicit Team(int threads) {
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // no more threads to be had: fewer give the same result
    }
  }
  ~Team() {
    task_ = nullptr;
    announce();
    for (std::thread& t : workers_) t.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Runs task(0) ... task(n-1); returns when all are done. The first exception is passed on.
  void operator()(Index n, const std::function<void(Index)>& task) {
    if (workers_.empty() || n <= 1) {
      for (Index i = 0; i < n; ++i) task(i);
      return;
    }
    task_ = &task;
    count_ = n;
    next_ = 0;
    busy_ = static_cast<int>(workers_.size());
    announce();
    drain();
    while (busy_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    if (error_) {
      std::exception_ptr e = error_;
      error_ = nullptr;
      std::rethrow_exception(e);
    }
  }

 private:
  void announce() {
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
  }
  void drain() {
    for (Index i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) {
      try {
        (*task_)(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
    }
  }
  void work() {
    std::uint32_t seen = 0;
    for (;;) {
      std::uint32_t now = generation_.load(std::memory_order_acquire);
      for (int spin = 0; now == seen && spin < 20000; ++spin) now = generation_.load(std::memory_order_acquire);
      while (now == seen) {
        generation_.wait(seen);
        now = generation_.load(std::memory_order_acquire);
      }
      seen = now;
      if (!task_) return;
      drain();
      busy_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::vector<std::thread> workers_;
  const std::function<void(Index)>* task_ = nullptr;
  Index count_ = 0;
  std::atomic<Index> next_{0};
  std::atomic<int> busy_{0};
  std::atomic<std::uint32_t> generation_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace latentree
