#include "mem.h"

void *memcpy(void *restrict destination, const void *restrict source, size_t length) {
    unsigned char *to = destination;
    const unsigned char *from = source;
    while (length--) {
        *to++ = *from++;
    }
    return destination;
}

void *memset(void *destination, int value, size_t length) {
    unsigned char *to = destination;
    while (length--) {
        *to++ = (unsigned char)value;
    }
    return destination;
}

int memcmp(const void *left, const void *right, size_t length) {
    const unsigned char *a = left;
    const unsigned char *b = right;
    for (; length; length--, a++, b++) {
        if (*a != *b) {
            return *a - *b;
        }
    }
    return 0;
}
