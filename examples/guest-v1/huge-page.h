/*
 * Memory whose guest-physical address is known: pages of 2 MiB, taken from the kernel's pool of
 * huge pages. Such a page is contiguous for its whole length, is never swapped, and stays where it
 * is for as long as it is mapped and nobody takes memory out of the machine.
 */
#ifndef HUGE_PAGE_H
#define HUGE_PAGE_H

#include <stddef.h>
#include <stdint.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/* From here on lies the RAM that does not fit below the PCI hole. */
#define HIGH_RAM_START ((uint64_t)1 << 32)

struct huge_page {
    void *bytes;
    uint64_t gpa; /* guest-physical address of its first byte */
};

/*
 * Fills both arrays with `count` pages each: `low` below 4 GiB, `high` above. Needs root, for the
 * pool's size and for physical addresses. 0, or -1 with a line on stderr that says why.
 */
int huge_pages_find(struct huge_page *low, struct huge_page *high, size_t count);

/* Gives the pool back to the kernel. Pages that are still mapped go when the process ends. */
void huge_pages_give_back(void);

#endif
