/* What is computed: operands, what must come back, and the descriptor of a launch. */
#include "producer.h"

#include <stdlib.h>
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Arbitrary words for mail, the pattern of the daemon's self-test for all else. */
void make_work(const struct options *options, struct work *work)
{
    uint64_t n = options->n, i;
    int has_two = options->op != HF_OP_MAIL && options->op != HF_OP_SLOW_ADD;

    work->array_bytes = n * sizeof(uint32_t);
    work->operand_bytes = has_two ? 2 * work->array_bytes : work->array_bytes;
    work->operands = allocate(work->operand_bytes);
    work->expected = allocate(work->array_bytes);
    /* Op 3 is wrong on purpose, and a daemon that checks says so. */
    work->expected_status =
        options->op == HF_OP_VADD_MUTATED ? HF_STATUS_VERIFY_FAILED : HF_STATUS_OK;
    for (i = 0; i < n; i++) {
        float a = 0.5f * (float)(i % 1000), b = 0.25f * (float)(i % 997), c = a + b;

        if (options->op == HF_OP_MAIL) {
            work->operands[i] = work->expected[i] = (uint32_t)i * 2654435761u;
            continue;
        }
        work->operands[i] = bits_of(a);
        if (has_two)
            work->operands[n + i] = bits_of(b);
        if (options->op == HF_OP_VADD_MUTATED)
            c += 1;
        if (options->op == HF_OP_SLOW_ADD)
            /* Halves are exact up to 2^23, so that one addition is as good as many. */
            c = a + (float)options->iters;
        work->expected[i] = bits_of(c);
    }
}

static size_t round_up(size_t bytes)
{
    /* Slices begin at multiples of 8. */
    return (bytes + 7) / 8 * 8;
}

/*
 * What `in` holds for a launch of `entry(float *out, const float *a, const float *b, uint32_t n)`,
 * which vadd of kernels/base.ptx is: the descriptor, then the operands. Fills the sizes and the
 * shape of the job.
 */
unsigned char *make_launch(const struct options *options, const struct work *work,
                           struct hf_cubb2_job *job)
{
    struct hf_launch_descriptor head = {
        .version = HF_LAUNCH_DESCRIPTOR_VERSION,
        .header_bytes = HF_LAUNCH_DESCRIPTOR_BYTES,
        .argument_count = 4,
        .entry_offset = sizeof head + 4 * sizeof(struct hf_launch_argument),
        .entry_bytes = (uint32_t)strlen(options->entry),
    };
    size_t bytes = work->array_bytes;
    size_t a = round_up(head.entry_offset + head.entry_bytes), b = a + round_up(bytes);
    struct hf_launch_argument arguments[4] = {
        {.kind = HF_KIND_OUT, .type = HF_TYPE_F32, .bytes = bytes, .value = 0},
        {.kind = HF_KIND_IN, .type = HF_TYPE_F32, .offset = a, .bytes = bytes},
        {.kind = HF_KIND_IN, .type = HF_TYPE_F32, .offset = b, .bytes = bytes},
        {.kind = HF_KIND_SCALAR, .type = HF_TYPE_U32, .value = options->n},
    };
    uint32_t threads = 256;
    size_t text_bytes;
    unsigned char *text = get_file(options->launch, &text_bytes);
    unsigned char *in = allocate(b + bytes);

    memcpy(head.magic, HF_LAUNCH_DESCRIPTOR_MAGIC, sizeof head.magic);
    sha256(text, text_bytes, head.module_sha256);
    free(text);
    memcpy(in, &head, sizeof head);
    memcpy(in + sizeof head, arguments, sizeof arguments);
    memcpy(in + head.entry_offset, options->entry, head.entry_bytes);
    memcpy(in + a, work->operands, bytes);
    memcpy(in + b, (const char *)work->operands + bytes, bytes);

    job->desc_bytes = (uint32_t)a;
    job->in_bytes = b + bytes;
    job->grid[0] = (uint32_t)((options->n + threads - 1) / threads);
    job->block[0] = threads;
    job->grid[1] = job->grid[2] = job->block[1] = job->block[2] = 1;
    return in;
}
