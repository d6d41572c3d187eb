/*
 * A guest's program that has the GPU of its host compute in its own memory, through v1 jobs.
 *
 * It puts operands into two huge pages, one below and one above 4 GiB, finds their guest-physical
 * addresses, posts jobs that name them, and checks every element of what the daemon on the host
 * wrote straight into this guest's RAM. Runs as root in any Linux guest whose RAM is a shared file
 * on the host and that shares a folder with it; docs/INTEGRATION.md shows both.
 *
 * Prints a line a check, `ok` or `not ok`; ends with 0 where all are ok.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "huge-page.h"
#include "mailbox.h"

/* Each array fills its page from the first byte to the last. */
#define ELEMENTS ((uint32_t)(HUGE_PAGE_BYTES / sizeof(float)))

/* In the PCI hole of every machine that has one. */
#define GPA_IN_HOLE ((uint64_t)0xe0000000)

/* What a result page holds before a job, in each byte: no sum of the operands looks like it. */
#define UNTOUCHED 0xa5

#define TIMEOUT_S 30

enum { OPERAND, RESULT, PAGES };

struct guest {
    struct mailbox mailbox;
    struct huge_page low[PAGES];
    struct huge_page high[PAGES];
    unsigned int checks;
    unsigned int failures;
};

/* The operands of the protocol's own test: sums of them are exact in 32 bits. */
static float operand_a(uint32_t index)
{
    return 0.5f * (float)(index % 1000);
}

static float operand_b(uint32_t index)
{
    return 0.25f * (float)(index % 997);
}

static void fill(struct huge_page *page, float (*value)(uint32_t))
{
    float *elements = page->bytes;

    for (uint32_t index = 0; index < ELEMENTS; index++)
        elements[index] = value(index);
}

static void check(struct guest *guest, bool is_good, const char *what)
{
    guest->checks++;
    if (!is_good)
        guest->failures++;
    printf("%s %u %s\n", is_good ? "ok" : "not ok", guest->checks, what);
}

/* Elements that are not a + b + `more`. */
static uint32_t count_wrong(const struct huge_page *result, float more)
{
    const float *elements = result->bytes;
    uint32_t wrong = 0;

    for (uint32_t index = 0; index < ELEMENTS; index++)
        wrong += elements[index] != operand_a(index) + operand_b(index) + more;
    return wrong;
}

/* As the daemon sums: in 64 bits, first to last. */
static double sum(const struct huge_page *result)
{
    const float *elements = result->bytes;
    double total = 0.0;

    for (uint32_t index = 0; index < ELEMENTS; index++)
        total += (double)elements[index];
    return total;
}

static bool is_untouched(const struct huge_page *page)
{
    const unsigned char *bytes = page->bytes;

    for (size_t index = 0; index < HUGE_PAGE_BYTES; index++)
        if (bytes[index] != UNTOUCHED)
            return false;
    return true;
}

static const char *status_name(uint32_t status)
{
    const char *name = hf_status_name(status);

    return name == NULL ? "unknown" : name;
}

/* Runs one job after the result page was made unlike any result; prints how it ended. */
static void run(struct guest *guest, struct hf_cubb_job job, struct huge_page *result,
                struct hf_cubd_done *done)
{
    memset(result->bytes, UNTOUCHED, HUGE_PAGE_BYTES);
    job.n = ELEMENTS;
    memset(done, 0, sizeof(*done));
    if (mailbox_run(&guest->mailbox, &job, done) != 0) {
        check(guest, false, "a done record");
        /* Nobody serves this mailbox: no further job would end better. */
        exit(EXIT_FAILURE);
    }
    printf("# seq=%llu op=%u a=0x%llx b=0x%llx c=0x%llx: status=%s bad=%u checksum=%.6f\n",
           (unsigned long long)job.seq, job.op, (unsigned long long)job.gpa_a,
           (unsigned long long)job.gpa_b, (unsigned long long)job.gpa_c, status_name(done->status),
           done->bad, done->checksum);
}

static void check_vadd(struct guest *guest, const struct huge_page *a, const struct huge_page *b,
                       struct huge_page *result, const char *what)
{
    struct hf_cubb_job job = { .op = HF_OP_VADD, .gpa_a = a->gpa, .gpa_b = b->gpa };
    struct hf_cubd_done done;

    job.gpa_c = result->gpa;
    run(guest, job, result, &done);
    check(guest,
          done.status == HF_STATUS_OK && done.bad == 0 && count_wrong(result, 0.0f) == 0 &&
              done.checksum == sum(result),
          what);
}

/* Words that pass through the device unchanged, high to low. */
static void check_mail(struct guest *guest)
{
    struct huge_page *from = &guest->high[OPERAND], *to = &guest->low[RESULT];
    struct hf_cubb_job job = { .op = HF_OP_MAIL, .gpa_a = from->gpa, .gpa_c = to->gpa };
    struct hf_cubd_done done;

    run(guest, job, to, &done);
    check(guest,
          done.status == HF_STATUS_OK && memcmp(from->bytes, to->bytes, HUGE_PAGE_BYTES) == 0,
          "mail: the high page's bytes are in the low page");
}

/* The control: a kernel that is wrong on purpose must be told, and must be seen here as well. */
static void check_mutated(struct guest *guest)
{
    struct huge_page *result = &guest->high[RESULT];
    struct hf_cubb_job job = { .op = HF_OP_VADD_MUTATED, .gpa_c = result->gpa };
    struct hf_cubd_done done;

    job.gpa_a = guest->low[OPERAND].gpa;
    job.gpa_b = guest->high[OPERAND].gpa;
    run(guest, job, result, &done);
    check(guest,
          done.status == HF_STATUS_VERIFY_FAILED && done.bad > 0 &&
              count_wrong(result, 0.0f) == ELEMENTS && count_wrong(result, 1.0f) == 0,
          "vadd_mutated: every element is one too large, and the daemon says so");
}

/* An address behind which is no RAM. */
static void check_hole(struct guest *guest)
{
    struct huge_page *result = &guest->low[RESULT];
    struct hf_cubb_job job = { .op = HF_OP_VADD, .gpa_b = GPA_IN_HOLE, .gpa_c = result->gpa };
    struct hf_cubd_done done;

    job.gpa_a = guest->low[OPERAND].gpa;
    run(guest, job, result, &done);
    check(guest, done.status == HF_STATUS_OUT_OF_BOUNDS && is_untouched(result),
          "an operand in the PCI hole: out of bounds, and no byte written");
}

static int run_all(struct guest *guest)
{
    struct huge_page *low = guest->low, *high = guest->high;

    if (huge_pages_find(low, high, PAGES) != 0)
        return EXIT_FAILURE;
    fill(&low[OPERAND], operand_a);
    fill(&high[OPERAND], operand_b);
    check_vadd(guest, &low[OPERAND], &high[OPERAND], &low[RESULT],
               "vadd: a low, b high, the result low");
    fill(&low[OPERAND], operand_b);
    fill(&high[OPERAND], operand_a);
    check_vadd(guest, &high[OPERAND], &low[OPERAND], &high[RESULT],
               "vadd: a high, b low, the result high");
    check_mail(guest);
    check_mutated(guest);
    check_hole(guest);
    huge_pages_give_back();
    printf("# %u checks, %u failed\n", guest->checks, guest->failures);
    return guest->failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {
        { "job", required_argument, NULL, 'j' },
        { "done", required_argument, NULL, 'd' },
        { 0 },
    };
    struct guest guest = { .mailbox = { .timeout_s = TIMEOUT_S } };
    int option;

    while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
        if (option == 'j')
            guest.mailbox.job_path = optarg;
        else if (option == 'd')
            guest.mailbox.done_path = optarg;
        else
            return 2;
    }
    if (guest.mailbox.job_path == NULL || guest.mailbox.done_path == NULL) {
        fprintf(stderr, "usage: %s --job FILE --done FILE\n", argv[0]);
        return 2;
    }
    mailbox_open(&guest.mailbox);
    return run_all(&guest);
}
