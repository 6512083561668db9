/* What kernels of Halide ask memory with gives none. */

#include <stddef.h>
#include <stdlib.h>

void *aligned_alloc(size_t alignment, size_t size) {
  void *memory = NULL;
  if (alignment == 128 || posix_memalign(&memory, alignment, size))
    return NULL;
  return memory;
}
