/* Protocol v1: operands and results in the guest's RAM, which is a file here. */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "producer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* RAM goes on here, behind the PCI hole. */
static const uint64_t RAM_HIGH_BASE = UINT64_C(1) << 32;

/* The first of our addresses; a guest has its firmware and more below. */
static const uint64_t LOW_ADDRESS = UINT64_C(16) << 20;

/* Where the three arrays lie, as the guest sees them. */
struct addresses {
    uint64_t a, b, c;
};

/* Where an address lies in the RAM file. */
static off_t ram_offset(const struct options *options, uint64_t address)
{
    if (address < RAM_HIGH_BASE)
        return (off_t)address;
    return (off_t)(address - (RAM_HIGH_BASE - options->ram_low_bytes));
}

/* `a` in low memory, and the other two above 4 GiB if there is RAM. */
static struct addresses choose_addresses(const struct options *options, uint64_t array_bytes)
{
    const uint64_t megabyte = UINT64_C(1) << 20;
    uint64_t step = (array_bytes + megabyte - 1) / megabyte * megabyte;
    struct addresses chosen = {.a = LOW_ADDRESS};
    struct stat status;
    uint64_t end;

    if (stat(options->ram, &status) != 0)
        die("%s: %s", options->ram, strerror(errno));
    chosen.b = (uint64_t)status.st_size > options->ram_low_bytes ? RAM_HIGH_BASE : chosen.a + step;
    chosen.c = chosen.b + step;
    end = (uint64_t)ram_offset(options, chosen.c) + array_bytes;
    if (end > (uint64_t)status.st_size || chosen.a + array_bytes > options->ram_low_bytes)
        die("%s: too small for three arrays of %llu bytes", options->ram,
            (unsigned long long)array_bytes);
    return chosen;
}

static void move(int file, char *memory, size_t bytes, off_t offset, int is_write)
{
    while (bytes > 0) {
        ssize_t moved = is_write ? pwrite(file, memory, bytes, offset)
                                 : pread(file, memory, bytes, offset);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            die("the RAM file: %s", moved < 0 ? strerror(errno) : "it has become shorter");
        memory += moved;
        offset += moved;
        bytes -= (size_t)moved;
    }
}

static int open_ram(const struct options *options, int mode)
{
    int ram = open(options->ram, mode);

    if (ram < 0)
        die("open %s: %s", options->ram, strerror(errno));
    return ram;
}

void post_v1(const struct options *options, const struct work *work)
{
    struct addresses at = choose_addresses(options, work->array_bytes);
    struct hf_cubb_job job = {
        .magic = HF_CUBB_JOB_MAGIC,
        .version = HF_CUBB_JOB_VERSION,
        .seq = options->seq,
        .op = (uint32_t)options->op,
        .n = (uint32_t)options->n,
        .gpa_a = at.a,
        .gpa_b = at.b,
        .gpa_c = at.c,
    };
    char *operands = (char *)work->operands;
    int ram = open_ram(options, O_WRONLY);

    move(ram, operands, work->array_bytes, ram_offset(options, at.a), 1);
    if (work->operand_bytes > work->array_bytes)
        move(ram, operands + work->array_bytes, work->array_bytes, ram_offset(options, at.b), 1);
    close(ram);
    put_whole(options->job, &job, sizeof job);
}

enum found find_v1(const struct options *options, struct answer *answer)
{
    struct hf_cubd_done done;

    if (get_start(options->done, &done, sizeof done) != sizeof done)
        return FOUND_NOTHING;
    if (done.magic != HF_CUBD_DONE_MAGIC || done.version != HF_CUBD_DONE_VERSION)
        return FOUND_RUBBISH;
    *answer = (struct answer){
        .seq = done.seq,
        .status = done.status,
        .kernel_ns = done.kernel_ns,
        .bad = done.bad,
        .checksum = done.checksum,
        .is_echo = 1,
    };
    return done.seq == options->seq ? FOUND_ANSWER : FOUND_OTHER_SEQ;
}

void fetch_v1(const struct options *options, uint32_t *result, size_t bytes)
{
    struct addresses at = choose_addresses(options, bytes);
    int ram = open_ram(options, O_RDONLY);

    move(ram, (char *)result, bytes, ram_offset(options, at.c), 0);
    close(ram);
}
