// Linked before libc: counts how often a program takes memory, and gives it
// back.
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static long allocations, frees;

long allocation_count(void) {
  return __atomic_load_n(&allocations, __ATOMIC_SEQ_CST);
}

/// Blocks that are in use, of the heap or mapped.
long block_count(void) {
  return allocation_count() - __atomic_load_n(&frees, __ATOMIC_SEQ_CST);
}

static void count(void) {
  __atomic_add_fetch(&allocations, 1, __ATOMIC_SEQ_CST);
}

void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
  count();
  if (block)
    __atomic_add_fetch(&frees, 1, __ATOMIC_SEQ_CST);
  return __libc_realloc(block, size);
}

void free(void *block) {
  if (block)
    __atomic_add_fetch(&frees, 1, __ATOMIC_SEQ_CST);
  __libc_free(block);
}

void *memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
  count();
  *block = __libc_memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}

void *mmap(void *address, size_t size, int protection, int flags, int file,
           off_t offset) {
  count();
  return (void *)syscall(SYS_mmap, address, size, protection, flags, file,
                         offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int file,
             off_t offset) {
  return mmap(address, size, protection, flags, file, offset);
}

int munmap(void *address, size_t size) {
  __atomic_add_fetch(&frees, 1, __ATOMIC_SEQ_CST);
  return (int)syscall(SYS_munmap, address, size);
}

int brk(void *address) {
  count();
  return (int)syscall(SYS_brk, address);
}

void *sbrk(intptr_t increment) {
  (void)increment;
  count();
  return (void *)-1;
}
