/* The memory functions that GCC expects even of a freestanding program. */
#ifndef MEM_H
#define MEM_H

#include <stddef.h>

void *memcpy(void *restrict destination, const void *restrict source, size_t length);
void *memset(void *destination, int value, size_t length);
int memcmp(const void *left, const void *right, size_t length);

#endif
