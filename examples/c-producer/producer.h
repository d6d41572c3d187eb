/*
 * A producer of the bridge's protocol (docs/PROTOCOL.md) in plain C. What its parts know of one
 * another.
 */
#ifndef PRODUCER_H
#define PRODUCER_H

#include <stddef.h>
#include <stdint.h>

#include "holdfast/records.h"

enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_BAD_USAGE = 2 };

struct options {
    /* The mailbox. v1 where there is a RAM file, else v2. */
    const char *job, *in, *out, *done, *ram;
    /* RAM below the PCI hole; the rest of the file lies from 4 GiB on. */
    uint64_t ram_low_bytes;
    /* The job. 0 as seq stands for one above that of the done record. */
    uint64_t seq, op, n, iters, timeout_ms;
    /* Op 256: the PTX file, and a kernel in it that has vadd's parameters. */
    const char *launch, *entry;
    /* The longest that we wait for a done record. */
    uint64_t wait_ms;
};

/* What is sent, and what has to come back. Elements are 4 bytes, whatever they are. */
struct work {
    /* One array, or two one behind the other. */
    uint32_t *operands;
    size_t operand_bytes;
    uint32_t *expected;
    size_t array_bytes;
    uint32_t expected_status;
};

/* What is in the done file. */
enum found { FOUND_NOTHING, FOUND_RUBBISH, FOUND_OTHER_SEQ, FOUND_ANSWER };

/* What both kinds of done record say; zero where one has no such field. */
struct answer {
    uint64_t seq;
    uint32_t status, cuda_error;
    uint64_t kernel_ns, bad, checked;
    double checksum;
    char device[33];
    /* The record repeats the job's op, n and out_bytes, as it has to. */
    int is_echo;
};

/* files.c */
_Noreturn void die(const char *format, ...);
void *allocate(size_t bytes);
void put_whole(const char *path, const void *data, size_t bytes);
size_t get_start(const char *path, void *data, size_t bytes);
unsigned char *get_file(const char *path, size_t *bytes);

/* sha256.c */
void sha256(const void *data, size_t bytes, uint8_t digest[32]);

/* work.c */
void make_work(const struct options *options, struct work *work);
unsigned char *make_launch(const struct options *options, const struct work *work,
                           struct hf_cubb2_job *job);

/* v2.c and v1.c: post a job; look for its answer; fetch its result. */
void post_v2(const struct options *options, const struct work *work);
enum found find_v2(const struct options *options, struct answer *answer);
void fetch_v2(const struct options *options, uint32_t *result, size_t bytes);
void post_v1(const struct options *options, const struct work *work);
enum found find_v1(const struct options *options, struct answer *answer);
void fetch_v1(const struct options *options, uint32_t *result, size_t bytes);

#endif
