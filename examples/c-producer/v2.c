/* Protocol v2: payload in files, records with a checksum. */
#include "producer.h"

#include <stdlib.h>
#include <string.h>

/* The payload first, then the record that stands for it. */
void post_v2(const struct options *options, const struct work *work)
{
    struct hf_cubb2_job job = {
        .version = HF_CUBB2_JOB_VERSION,
        .record_bytes = HF_CUBB2_JOB_BYTES,
        .seq = options->seq,
        .op = (uint32_t)options->op,
        .timeout_ms = (uint32_t)options->timeout_ms,
        .n = options->n,
        .in_bytes = work->operand_bytes,
        .out_bytes = work->array_bytes,
        .iters = (uint32_t)options->iters,
    };

    memcpy(job.magic, HF_CUBB2_JOB_MAGIC, sizeof job.magic);
    if (options->op == HF_OP_LAUNCH) {
        unsigned char *in = make_launch(options, work, &job);

        put_whole(options->in, in, job.in_bytes);
        free(in);
    } else {
        put_whole(options->in, work->operands, work->operand_bytes);
    }
    /* The checksum is over all that comes before it, so it comes last. */
    job.crc32c = hf_crc32c(&job, offsetof(struct hf_cubb2_job, crc32c));
    put_whole(options->job, &job, sizeof job);
}

enum found find_v2(const struct options *options, struct answer *answer)
{
    struct hf_cbd2_done done;
    uint64_t out_bytes;

    if (get_start(options->done, &done, sizeof done) != sizeof done)
        return FOUND_NOTHING;
    if (memcmp(done.magic, HF_CBD2_DONE_MAGIC, sizeof done.magic) != 0 ||
        done.crc32c != hf_crc32c(&done, offsetof(struct hf_cbd2_done, crc32c)) ||
        done.version != HF_CBD2_DONE_VERSION || done.record_bytes != HF_CBD2_DONE_BYTES)
        return FOUND_RUBBISH;
    *answer = (struct answer){
        .seq = done.seq,
        .status = done.status,
        .cuda_error = done.cuda_error,
        .kernel_ns = done.kernel_ns,
        .bad = done.bad,
        .checked = done.checked,
        .checksum = done.checksum,
    };
    memcpy(answer->device, done.device, sizeof done.device);
    out_bytes = done.status == HF_STATUS_OK || done.status == HF_STATUS_VERIFY_FAILED
                    ? options->n * sizeof(uint32_t)
                    : 0;
    answer->is_echo =
        done.op == options->op && done.n == options->n && done.out_bytes == out_bytes;
    return done.seq == options->seq ? FOUND_ANSWER : FOUND_OTHER_SEQ;
}

void fetch_v2(const struct options *options, uint32_t *result, size_t bytes)
{
    if (get_start(options->out, result, bytes) != bytes)
        die("%s has fewer bytes than the job's result", options->out);
}
