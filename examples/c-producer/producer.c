/*
 * Posts one job, waits for its done record, checks the record and every element of the result, and
 * says in one line what came of it. See README.md.
 */
#define _POSIX_C_SOURCE 200809L

#include "producer.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Pause between two looks at the done file. */
static const long POLL_NS = 100 * 1000;

static const struct option FLAGS[] = {
    {"job", required_argument, NULL, 'j'},
    {"in", required_argument, NULL, 'i'},
    {"out", required_argument, NULL, 'o'},
    {"done", required_argument, NULL, 'd'},
    {"ram", required_argument, NULL, 'r'},
    {"ram-low-size", required_argument, NULL, 'R'},
    {"seq", required_argument, NULL, 's'},
    {"op", required_argument, NULL, 'p'},
    {"n", required_argument, NULL, 'n'},
    {"iters", required_argument, NULL, 'I'},
    {"timeout-ms", required_argument, NULL, 't'},
    {"launch", required_argument, NULL, 'l'},
    {"entry", required_argument, NULL, 'e'},
    {"wait-ms", required_argument, NULL, 'w'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char HELP[] =
    "usage: c-producer --job FILE --in FILE --out FILE --done FILE [flags]   v2\n"
    "       c-producer --job FILE --done FILE --ram FILE [flags]             v1\n"
    "Posts one job, waits for its done record, checks the record and every element.\n"
    "  --op N            1 mail, 2 vadd (default), 3 vadd_mutated, 4 slow_add\n"
    "  --launch PTX      v2: op 256 with the kernel --entry NAME (vadd) of this file\n"
    "  --n N             elements (1048576)\n"
    "  --iters N         op 4: additions (0)\n"
    "  --seq N           sequence number (one above that of the done record)\n"
    "  --timeout-ms N    longest time of the kernel (0: the daemon's default)\n"
    "  --wait-ms N       longest wait for the answer (60000)\n"
    "  --ram-low-size N  v1: bytes of RAM below the PCI hole (2147483648)\n"
    "Exit: 0 all was right, 1 a check failed, 2 bad usage or a file's trouble.\n";

static uint64_t parse_number(const char *text)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || *text == '-')
        die("'%s' is no whole number; write e.g. 1048576 or 0x80000000", text);
    return value;
}

static void take_flag(struct options *options, int flag, const char *text)
{
    switch (flag) {
    case 'j': options->job = text; break;
    case 'i': options->in = text; break;
    case 'o': options->out = text; break;
    case 'd': options->done = text; break;
    case 'r': options->ram = text; break;
    case 'R': options->ram_low_bytes = parse_number(text); break;
    case 's': options->seq = parse_number(text); break;
    case 'p': options->op = parse_number(text); break;
    case 'n': options->n = parse_number(text); break;
    case 'I': options->iters = parse_number(text); break;
    case 't': options->timeout_ms = parse_number(text); break;
    case 'l': options->launch = text; break;
    case 'e': options->entry = text; break;
    case 'w': options->wait_ms = parse_number(text); break;
    case 'h': fputs(HELP, stdout); exit(0);
    default: die("--help lists the flags");
    }
}

static struct options parse_options(int argc, char **argv)
{
    struct options options = {
        .ram_low_bytes = UINT64_C(2) << 30,
        .op = HF_OP_VADD,
        .n = UINT64_C(1) << 20,
        .entry = "vadd",
        .wait_ms = 60 * 1000,
    };
    int flag;

    while ((flag = getopt_long(argc, argv, "", FLAGS, NULL)) != -1)
        take_flag(&options, flag, optarg);
    if (optind < argc)
        die("'%s' is no flag", argv[optind]);
    if (options.launch != NULL)
        options.op = HF_OP_LAUNCH;
    if (options.job == NULL || options.done == NULL)
        die("give --job and --done");
    if (options.ram == NULL && (options.in == NULL || options.out == NULL))
        die("give --in and --out for v2, or --ram for v1");
    if (options.op == HF_OP_LAUNCH && (options.launch == NULL || options.ram != NULL))
        die("op 256 needs --launch FILE.ptx, and v2");
    if (options.n == 0 || options.n > UINT64_C(1) << 28)
        die("--n is 1 to 268435456");
    return options;
}

static enum found find(const struct options *options, struct answer *answer)
{
    return options->ram == NULL ? find_v2(options, answer) : find_v1(options, answer);
}

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Waits for the answer to our seq; gives the seconds that it took, or less than 0 for none. */
static double await_answer(const struct options *options, struct answer *answer)
{
    static const char *const instead[] = {
        [FOUND_NOTHING] = "there is none",
        [FOUND_RUBBISH] = "what is there is none, or damaged",
        [FOUND_OTHER_SEQ] = "the one that is there is of another seq",
    };
    const struct timespec pause = {0, POLL_NS};
    double begin = now_seconds();

    for (;;) {
        enum found found = find(options, answer);
        double seconds = now_seconds() - begin;

        if (found == FOUND_ANSWER)
            return seconds;
        if (seconds * 1000 > (double)options->wait_ms) {
            printf("FAIL seq=%" PRIu64 " no done record within %" PRIu64 " ms: %s\n", options->seq,
                   options->wait_ms, instead[found]);
            return -1;
        }
        nanosleep(&pause, NULL);
    }
}

/* How many elements of the result are not what they must be. */
static uint64_t count_wrong(const struct options *options, const struct work *work)
{
    uint32_t *result = allocate(work->array_bytes);
    uint64_t wrong = 0, i;

    if (options->ram == NULL)
        fetch_v2(options, result, work->array_bytes);
    else
        fetch_v1(options, result, work->array_bytes);
    for (i = 0; i < options->n; i++)
        wrong += result[i] != work->expected[i];
    free(result);
    return wrong;
}

int main(int argc, char **argv)
{
    struct options options = parse_options(argc, argv);
    struct answer answer = {0};
    struct work work;
    uint64_t wrong = 0;
    double seconds;
    int is_right;
    const char *status;

    if (options.seq == 0)
        options.seq = find(&options, &answer) == FOUND_OTHER_SEQ ? answer.seq + 1 : 1;
    make_work(&options, &work);
    if (options.ram == NULL)
        post_v2(&options, &work);
    else
        post_v1(&options, &work);
    seconds = await_answer(&options, &answer);
    if (seconds < 0)
        return EXIT_WRONG;

    is_right = answer.is_echo && answer.status == work.expected_status &&
               (answer.bad > 0) == (work.expected_status == HF_STATUS_VERIFY_FAILED);
    if (answer.status == HF_STATUS_OK || answer.status == HF_STATUS_VERIFY_FAILED)
        wrong = count_wrong(&options, &work);
    is_right = is_right && wrong == 0;
    status = hf_status_name(answer.status);
    printf("%s seq=%" PRIu64 " op=%" PRIu64 " n=%" PRIu64 " gpu=\"%s\" kernel_ns=%" PRIu64
           " status=%s cuda_error=%" PRIu32 " checksum=%.6f bad=%" PRIu64 " checked=%" PRIu64
           " wrong=%" PRIu64 " wait_us=%.0f\n",
           is_right ? "PASS" : "FAIL", options.seq, options.op, options.n, answer.device,
           answer.kernel_ns, status != NULL ? status : "unknown", answer.cuda_error,
           answer.checksum, answer.bad, answer.checked, wrong, seconds * 1e6);
    return is_right ? EXIT_RIGHT : EXIT_WRONG;
}
