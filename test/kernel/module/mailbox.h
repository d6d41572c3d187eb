/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A mailbox of protocol v2 in a real kernel: what a vGPU module offers to `holdfast bridge`, with a
 * control side through which a test launches jobs and chooses how the files behave.
 *
 * Protocol: docs/PROTOCOL.md; the records come from the header that is made from its source.
 */
#ifndef HF_MAILBOX_H
#define HF_MAILBOX_H

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <holdfast/records.h>

/* Of input and of output; the tests' largest job has 1 MiB. */
#define HF_PAYLOAD_BYTES_MAX (16u << 20)

/*
 * Set through debugfs, which takes no lock of ours: each call reads what it needs once.
 * All off is a producer as a reader would wish it.
 */
struct hf_behaviour {
	bool idle_eagain;   /* an idle job file gives EAGAIN, not 0 bytes */
	bool ignore_offset; /* every read of job and in starts at offset 0 */
	bool refuse_small;  /* EINVAL for buffers smaller than the record */
	bool keep_job;	    /* the job file shows a job after its done came */
	u32 read_bytes_max; /* most bytes that one read of job or in gives; 0: all */
	u32 done_failures;  /* so many coming writes of done fail with EIO */
	u32 wait_ms;	    /* a launch waits for its done for so long */
};

struct hf_counters {
	u64 job_reads; /* idle ones too */
	u64 job_shown; /* those that gave a record, or its beginning */
	u64 in_reads;
	u64 out_writes; /* calls of write(2), whatever came of them */
	u64 out_refused;
	u64 done_writes;
	u64 done_accepted;
	u64 done_refused_size;
	u64 done_refused_magic;
	u64 done_refused_crc;
	u64 done_refused_seq; /* nobody waits for it, or for another one */
	u64 done_refused_out; /* says other than what `out` holds, or echoes another job */
	u64 launches;
	u64 timeouts;
};

struct hf_mailbox {
	struct mutex lock; /* everything below it */
	wait_queue_head_t answer_wait;
	struct hf_behaviour behaviour;
	struct hf_counters counters;
	atomic_t held; /* open descriptors of the four files */

	bool is_posted;		    /* the job file shows the job */
	bool is_awaited;	    /* a launch sleeps until its done comes */
	bool is_answered;	    /* it came */
	u64 last_seq;		    /* of the last launch; a test that posts sets it */
	u8 job[HF_CUBB2_JOB_BYTES]; /* as posted; shorter where a test cut it */
	size_t job_bytes;
	void *in;
	size_t in_bytes;
	void *out;
	size_t out_bytes;
	size_t out_bytes_wanted;
	struct hf_cbd2_done done;
};

/* record.c */
int hf_check_seals(void);
void hf_seal_job(struct hf_cubb2_job *job, u64 seq, size_t in_bytes);
int hf_check_done(struct hf_mailbox *box, const struct hf_cbd2_done *done);

/* transport.c: the four files that the daemon opens */
void hf_transport_create(struct hf_mailbox *box, struct dentry *folder);

/* control.c: what tests open */
void hf_control_create(struct hf_mailbox *box, struct dentry *folder);

#endif
