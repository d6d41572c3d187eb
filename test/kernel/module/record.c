// SPDX-License-Identifier: GPL-2.0
/*
 * The records, in the kernel: a job is filled and sealed as a producer does it, and a done record
 * is checked for all that the protocol promises. The CRC is the kernel's own.
 */
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/string.h>

#include "mailbox.h"

/* Over the bytes before the seal. The kernel's function leaves both inversions to its caller. */
static u32 hf_seal_of(const void *record, size_t seal_offset)
{
	return crc32c(~0u, record, seal_offset) ^ ~0u;
}

/* 0 where the header's CRC, which producers without one of their own use, is the kernel's. */
int hf_check_seals(void)
{
	static const char text[] = "123456789";
	size_t bytes = sizeof(text) - 1;

	return hf_crc32c(text, bytes) == hf_seal_of(text, bytes) ? 0 : -EINVAL;
}

/* What the caller left to us: everything but flags, operation, sizes of the launch, guest_id. */
void hf_seal_job(struct hf_cubb2_job *job, u64 seq, size_t in_bytes)
{
	memcpy(job->magic, HF_CUBB2_JOB_MAGIC, sizeof(job->magic));
	job->version = HF_CUBB2_JOB_VERSION;
	job->record_bytes = HF_CUBB2_JOB_BYTES;
	job->seq = seq;
	job->in_bytes = in_bytes;
	memset(job->reserved, 0, sizeof(job->reserved));
	job->crc32c = hf_seal_of(job, offsetof(struct hf_cubb2_job, crc32c));
}

/* Whether it says of `out` what `out` holds. A job that did not run wrote none. */
static bool hf_tells_out(const struct hf_mailbox *box, const struct hf_cbd2_done *done)
{
	bool ran = done->status == HF_STATUS_OK || done->status == HF_STATUS_VERIFY_FAILED;

	if (done->out_bytes != box->out_bytes)
		return false;
	return !ran || done->out_bytes == box->out_bytes_wanted;
}

/* 0, or why it is refused; counts it. The caller holds the lock. */
int hf_check_done(struct hf_mailbox *box, const struct hf_cbd2_done *done)
{
	const struct hf_cubb2_job *job = (const void *)box->job;
	struct hf_counters *counters = &box->counters;

	if (memcmp(done->magic, HF_CBD2_DONE_MAGIC, sizeof(done->magic)) ||
	    done->version != HF_CBD2_DONE_VERSION || done->record_bytes != HF_CBD2_DONE_BYTES) {
		counters->done_refused_magic++;
		return -EINVAL;
	}
	if (done->crc32c != hf_seal_of(done, offsetof(struct hf_cbd2_done, crc32c))) {
		counters->done_refused_crc++;
		return -EBADMSG;
	}
	if (!box->is_awaited || box->is_answered || box->job_bytes < HF_CUBB2_JOB_BYTES ||
	    done->seq != job->seq) {
		counters->done_refused_seq++;
		return -ESTALE;
	}
	if (done->op != job->op || done->n != job->n || !hf_tells_out(box, done)) {
		counters->done_refused_out++;
		return -EPROTO;
	}
	counters->done_accepted++;
	return 0;
}
