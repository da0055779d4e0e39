// SPDX-License-Identifier: Apache-2.0
// A program whose threads wake each other, and that records the waker of each wait:
//
//   hand_offs FILE
//
// writes a line "KIND WAITER BEGIN_NS END_NS WAKER" for each call that may have waited, once it knows.
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr int kLockHandOffs = 1'400;  // most of them after a wait
constexpr int kTurns = 300;           // of conditions, and of semaphores
constexpr int kBroadcasts = 60;
constexpr int kJoins = 40;

int64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void Pause(int64_t us) {
  const timespec pause{0, us * 1'000};
  nanosleep(&pause, nullptr);
}

struct Line {
  const char* kind;
  int waiter;
  int64_t begin_ns;
  int64_t end_ns;
  int waker;
};
pthread_mutex_t g_diary_mutex = PTHREAD_MUTEX_INITIALIZER;
std::vector<Line> g_diary;

// Of one thread; gone over into the diary at its end.
class Notes {
 public:
  ~Notes() {
    pthread_mutex_lock(&g_diary_mutex);
    g_diary.insert(g_diary.end(), lines_.begin(), lines_.end());
    pthread_mutex_unlock(&g_diary_mutex);
  }
  void Add(const char* kind, int64_t begin_ns, int64_t end_ns, int waker) {
    lines_.push_back({kind, gettid(), begin_ns, end_ns, waker});
  }

 private:
  std::vector<Line> lines_;
};

uint32_t Random(uint32_t* state) { return (*state = *state * 1664525 + 1013904223) >> 8; }

template <typename Body>
void RunThreads(Body body) {
  pthread_t threads[kThreads];
  static std::atomic<int> next;
  next = 0;
  for (pthread_t& thread : threads) {
    pthread_create(
        &thread, nullptr,
        [](void* context) -> void* {
          Notes notes;
          (*static_cast<Body*>(context))(next++, &notes);
          return nullptr;
        },
        &body);
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}

// The owner is the last thread that released it.
void HandOverAMutex() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static int last_owner = 0;
  static int left = kLockHandOffs;
  RunThreads([](int number, Notes* notes) {
    uint32_t random = static_cast<uint32_t>(number);
    for (bool goes_on = true; goes_on;) {
      const int64_t begin_ns = Now();
      pthread_mutex_lock(&mutex);
      const int64_t end_ns = Now();
      if (last_owner != 0) notes->Add("mutex", begin_ns, end_ns, last_owner);
      goes_on = left-- > 0;
      Pause(200 + Random(&random) % 200);
      last_owner = gettid();
      pthread_mutex_unlock(&mutex);
      Pause(Random(&random) % 100);
    }
  });
}

// Each wakes another one, which waits for no other thread.
void TakeTurnsByConditions() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t conditions[kThreads] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
                                                PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
  static int turn = 0;
  static int waker = 0;
  static int left = kTurns;
  RunThreads([](int number, Notes* notes) {
    uint32_t random = static_cast<uint32_t>(number);
    pthread_mutex_lock(&mutex);
    while (left > 0) {
      if (turn != number) {
        const int64_t begin_ns = Now();
        pthread_cond_wait(&conditions[number], &mutex);
        if (left > 0 && turn == number) notes->Add("condition", begin_ns, Now(), waker);
        continue;
      }
      pthread_mutex_unlock(&mutex);
      Pause(300);
      pthread_mutex_lock(&mutex);
      --left;
      turn = (number + 1 + static_cast<int>(Random(&random)) % (kThreads - 1)) % kThreads;
      waker = gettid();
      pthread_cond_signal(&conditions[turn]);
    }
    for (pthread_cond_t& condition : conditions) pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
  });
}

// Number 0 wakes all others, which all wait.
void LetAllGoOn() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  static std::atomic<int> waiting;
  static int round = 0;
  static int waker = 0;
  RunThreads([](int number, Notes* notes) {
    for (int i = 0; i < kBroadcasts; ++i) {
      if (number == 0) {
        while (waiting != kThreads - 1) Pause(100);
        Pause(200);
        pthread_mutex_lock(&mutex);
        waiting = 0;
        ++round;
        waker = gettid();
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
        continue;
      }
      pthread_mutex_lock(&mutex);
      ++waiting;
      while (round <= i) {
        const int64_t begin_ns = Now();
        pthread_cond_wait(&condition, &mutex);
        if (round > i) notes->Add("broadcast", begin_ns, Now(), waker);
      }
      pthread_mutex_unlock(&mutex);
    }
  });
}

// Each posts another one's semaphore, which no third thread waits for.
void TakeTurnsBySemaphores() {
  static sem_t semaphores[kThreads];
  static int wakers[kThreads];
  static std::atomic<int> left{kTurns};
  for (sem_t& semaphore : semaphores) sem_init(&semaphore, 0, 0);
  sem_post(&semaphores[0]);
  RunThreads([](int number, Notes* notes) {
    uint32_t random = static_cast<uint32_t>(number);
    for (;;) {
      const int64_t begin_ns = Now();
      sem_wait(&semaphores[number]);
      if (left <= 0) break;
      if (wakers[number] != 0) notes->Add("semaphore", begin_ns, Now(), wakers[number]);
      Pause(300);
      --left;
      const int next = (number + 1 + static_cast<int>(Random(&random)) % (kThreads - 1)) % kThreads;
      wakers[next] = gettid();
      sem_post(&semaphores[next]);
    }
    for (sem_t& semaphore : semaphores) sem_post(&semaphore);
  });
}

void JoinThreads() {
  Notes notes;
  for (int i = 0; i < kJoins; ++i) {
    pthread_t thread{};
    int tid = 0;
    pthread_create(
        &thread, nullptr,
        [](void* tid_of_it) -> void* {
          *static_cast<int*>(tid_of_it) = gettid();
          Pause(2'000);
          return nullptr;
        },
        &tid);
    const int64_t begin_ns = Now();
    pthread_join(thread, nullptr);
    notes.Add("join", begin_ns, Now(), tid);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  HandOverAMutex();
  TakeTurnsByConditions();
  LetAllGoOn();
  TakeTurnsBySemaphores();
  JoinThreads();
  std::FILE* file = std::fopen(argv[1], "w");
  if (file == nullptr) return 1;
  for (const Line& line : g_diary) {
    std::fprintf(file, "%s %d %lld %lld %d\n", line.kind, line.waiter, static_cast<long long>(line.begin_ns),
                 static_cast<long long>(line.end_ns), line.waker);
  }
  return std::fclose(file) == 0 ? 0 : 1;
}
