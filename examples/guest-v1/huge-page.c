#define _GNU_SOURCE
#include "huge-page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of all pages that the search may map, 2 GiB: past it this guest has none of one kind to give. */
#define PAGES_MAX 1024

/* The pool grows by so many at a time. Only one of them is mapped and so zeroed. */
#define POOL_STEP 24

static const char POOL_FILE[] = "/proc/sys/vm/nr_hugepages";

/* Entry of /proc/self/pagemap (Linux Documentation/admin-guide/mm/pagemap.rst). */
#define PAGEMAP_PRESENT ((uint64_t)1 << 63)
#define PAGEMAP_FRAME_MASK (((uint64_t)1 << 55) - 1)

static int pool_resize(long pages)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%ld\n", pages);
    int file = open(POOL_FILE, O_WRONLY | O_CLOEXEC);
    int failed;

    if (file < 0)
        return -1;
    failed = write(file, text, (size_t)length) != length;
    close(file);
    return failed ? -1 : 0;
}

/* Where a page of our memory lies for the machine; 0 where the kernel does not tell. */
static uint64_t guest_physical_address(const void *bytes)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t entry = 0;
    off_t offset = (off_t)((uintptr_t)bytes / page_bytes * sizeof(entry));
    int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (file < 0)
        return 0;
    got = pread(file, &entry, sizeof(entry), offset);
    close(file);
    if (got != sizeof(entry) || !(entry & PAGEMAP_PRESENT))
        return 0;
    /* Who lacks CAP_SYS_ADMIN is shown frame 0. */
    return (entry & PAGEMAP_FRAME_MASK) * page_bytes;
}

/* Maps one page of the pool and writes to it, so that it is there. -1 where the pool is empty. */
static int huge_page_map(struct huge_page *page)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;

    page->bytes = mmap(NULL, HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (page->bytes == MAP_FAILED)
        return -1;
    memset(page->bytes, 0, 1);
    page->gpa = guest_physical_address(page->bytes);
    return 0;
}

/*
 * The kernel takes pool pages above 4 GiB for as long as it has any, and the newest page of the
 * pool is handed out first. So the pool grows in steps and one page of each step is looked at: the
 * first ones lie high, and the first one after the high memory is used up lies low.
 */
int huge_pages_find(struct huge_page *low, struct huge_page *high, size_t count)
{
    static struct huge_page unwanted[PAGES_MAX];
    size_t low_count = 0, high_count = 0, unwanted_count = 0;
    long pool = 0;

    while ((low_count < count || high_count < count) && unwanted_count < PAGES_MAX) {
        struct huge_page page;

        pool += POOL_STEP;
        if (pool_resize(pool) != 0) {
            fprintf(stderr, "%s: %s\n", POOL_FILE, strerror(errno));
            break;
        }
        if (huge_page_map(&page) != 0) {
            fprintf(stderr, "no huge page is left: %s\n", strerror(errno));
            break;
        }
        if (page.gpa == 0) {
            fprintf(stderr, "/proc/self/pagemap shows no address: run as root\n");
            break;
        }
        if (page.gpa >= HIGH_RAM_START && high_count < count)
            high[high_count++] = page;
        else if (page.gpa < HIGH_RAM_START && low_count < count)
            low[low_count++] = page;
        else
            unwanted[unwanted_count++] = page;
    }
    while (unwanted_count > 0)
        munmap(unwanted[--unwanted_count].bytes, HUGE_PAGE_BYTES);
    if (low_count == count && high_count == count)
        return 0;
    fprintf(stderr, "found %zu pages below 4 GiB and %zu above, of %zu each\n", low_count,
            high_count, count);
    return -1;
}

void huge_pages_give_back(void)
{
    /* Where this fails the pool lives on until the guest's end; nothing else is lost. */
    if (pool_resize(0) != 0)
        fprintf(stderr, "%s: %s\n", POOL_FILE, strerror(errno));
}
