/* A machine whose disk breaks or whose clock jumps, for the process that preloads this file.

   FAULTY_PATH   what begins so lies on the broken disk
   FAULTY_AT     from this operation on it, all fail with EIO: opening, writing, flushing, renaming
   FAULTY_CLOCK  while this file is there, the clock of the day is off
   FAULTY_JUMP   by so many seconds
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int operations;

static int fails(const char *path) {
  const char *broken = getenv("FAULTY_PATH"), *at = getenv("FAULTY_AT");
  if (!broken || !at || strncmp(path, broken, strlen(broken))) return 0;
  if (__atomic_add_fetch(&operations, 1, __ATOMIC_RELAXED) < atoi(at)) return 0;
  errno = EIO;
  return 1;
}

static int file_fails(int file) {
  char link[64], path[4096];
  if (!getenv("FAULTY_PATH")) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return fails(path);
}

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

ssize_t write(int file, const void *data, size_t bytes) {
  REAL(ssize_t, "write", int, const void *, size_t);
  return file_fails(file) ? -1 : real(file, data, bytes);
}

int fsync(int file) {
  REAL(int, "fsync", int);
  return file_fails(file) ? -1 : real(file);
}

int fdatasync(int file) {
  REAL(int, "fdatasync", int);
  return file_fails(file) ? -1 : real(file);
}

int rename(const char *from, const char *to) {
  REAL(int, "rename", const char *, const char *);
  return fails(to) ? -1 : real(from, to);
}

#define OPENS(name) \
  int name(const char *path, int flags, ...) { \
    REAL(int, #name, const char *, int, ...); \
    va_list more; \
    va_start(more, flags); \
    int mode = va_arg(more, int); \
    va_end(more); \
    return fails(path) ? -1 : real(path, flags, mode); \
  }

OPENS(open)
OPENS(open64)

static time_t jump(void) {
  const char *there = getenv("FAULTY_CLOCK"), *by = getenv("FAULTY_JUMP");
  return there && by && !access(there, F_OK) ? atol(by) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  REAL(int, "clock_gettime", clockid_t, struct timespec *);
  int failed = real(clock, now);
  if (!failed && clock == CLOCK_REALTIME) now->tv_sec += jump();
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  REAL(int, "gettimeofday", struct timeval *, void *);
  int failed = real(now, zone);
  if (!failed) now->tv_sec += jump();
  return failed;
}

time_t time(time_t *now) {
  REAL(time_t, "time", time_t *);
  time_t found = real(NULL) + jump();
  if (now) *now = found;
  return found;
}
