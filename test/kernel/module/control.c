// SPDX-License-Identifier: GPL-2.0
/*
 * What tests open. `launch` and `post` take one write(2): a job record, and the input right behind
 * it. The call sleeps in the kernel, as a guest's launch does, until the done record came or
 * wait_ms are over (ETIMEDOUT); then a read of the same descriptor gives the done record, and the
 * output behind it. `launch` fills and seals the record by itself; `post` takes it as it is.
 */
#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "mailbox.h"

/* What a launch got back, kept with the descriptor that launched. */
struct hf_answer {
	struct hf_mailbox *box;
	void *bytes;
	size_t size;
};

static int answer_open(struct inode *inode, struct file *file)
{
	struct hf_answer *answer = kzalloc(sizeof(*answer), GFP_KERNEL);

	if (!answer)
		return -ENOMEM;
	answer->box = inode->i_private;
	file->private_data = answer;
	return 0;
}

static int answer_release(struct inode *inode, struct file *file)
{
	struct hf_answer *answer = file->private_data;

	kvfree(answer->bytes);
	kfree(answer);
	return 0;
}

static ssize_t answer_read(struct file *file, char __user *user, size_t bytes, loff_t *position)
{
	struct hf_answer *answer = file->private_data;

	return simple_read_from_buffer(user, bytes, position, answer->bytes, answer->size);
}

/*
 * Makes room for the output. A record that is posted again keeps the output that it got: the daemon
 * answers it with the done record alone.
 */
static int prepare_out(struct hf_mailbox *box, const u8 *record, size_t record_bytes)
{
	const struct hf_cubb2_job *job = (const void *)record;
	size_t wanted = 0;
	void *out;

	if (record_bytes == box->job_bytes && !memcmp(record, box->job, record_bytes))
		return 0;
	if (record_bytes == HF_CUBB2_JOB_BYTES)
		wanted = min_t(u64, job->out_bytes, HF_PAYLOAD_BYTES_MAX);
	out = kvzalloc(max_t(size_t, wanted, 1), GFP_KERNEL);
	if (!out)
		return -ENOMEM;
	kvfree(box->out);
	box->out = out;
	box->out_bytes = 0;
	box->out_bytes_wanted = wanted;
	return 0;
}

/*
 * Shows the job to the daemon. `request` is the record and the input behind it; on success its
 * memory is the mailbox's. The caller holds the lock.
 */
static int show_job(struct hf_mailbox *box, u8 *request, size_t bytes)
{
	size_t record_bytes = min_t(size_t, bytes, HF_CUBB2_JOB_BYTES);
	int result;

	if (box->is_awaited)
		return -EBUSY;
	result = prepare_out(box, request, record_bytes);
	if (result)
		return result;
	kvfree(box->in);
	box->in = request;
	memset(box->job, 0, sizeof(box->job));
	memcpy(box->job, request, record_bytes);
	box->job_bytes = record_bytes;
	box->in_bytes = bytes - record_bytes;
	memmove(box->in, request + record_bytes, box->in_bytes);
	box->counters.launches++;
	box->is_answered = false;
	box->is_awaited = true;
	box->is_posted = true;
	return 0;
}

/* Copies done record and output into the answer. The caller holds the lock. */
static int keep_answer(struct hf_mailbox *box, struct hf_answer *answer)
{
	size_t size = HF_CBD2_DONE_BYTES + box->out_bytes;
	u8 *bytes = kvmalloc(size, GFP_KERNEL);

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, &box->done, HF_CBD2_DONE_BYTES);
	memcpy(bytes + HF_CBD2_DONE_BYTES, box->out, box->out_bytes);
	kvfree(answer->bytes);
	answer->bytes = bytes;
	answer->size = size;
	return 0;
}

/* Sleeps until the done record came; a job that is given up is shown no longer. */
static int await_done(struct hf_mailbox *box, struct hf_answer *answer)
{
	long left =
	    wait_event_interruptible_timeout(box->answer_wait, READ_ONCE(box->is_answered),
					     msecs_to_jiffies(READ_ONCE(box->behaviour.wait_ms)));
	int result;

	mutex_lock(&box->lock);
	if (box->is_answered) {
		result = keep_answer(box, answer);
	} else {
		result = left < 0 ? -EINTR : -ETIMEDOUT;
		box->counters.timeouts++;
		box->is_posted = false;
	}
	box->is_awaited = false;
	mutex_unlock(&box->lock);
	return result;
}

static ssize_t run_request(struct hf_answer *answer, const char __user *user, size_t bytes,
			   bool is_sealed_here)
{
	struct hf_mailbox *box = answer->box;
	u8 *request;
	int result;

	if (bytes > HF_CUBB2_JOB_BYTES + HF_PAYLOAD_BYTES_MAX)
		return -EFBIG;
	if (is_sealed_here && bytes < HF_CUBB2_JOB_BYTES)
		return -EINVAL;
	request = kvzalloc(max_t(size_t, bytes, HF_CUBB2_JOB_BYTES), GFP_KERNEL);
	if (!request)
		return -ENOMEM;
	if (copy_from_user(request, user, bytes)) {
		kvfree(request);
		return -EFAULT;
	}
	mutex_lock(&box->lock);
	if (is_sealed_here)
		hf_seal_job((void *)request, box->last_seq + 1, bytes - HF_CUBB2_JOB_BYTES);
	result = show_job(box, request, bytes);
	if (result)
		kvfree(request);
	else if (is_sealed_here)
		box->last_seq++;
	mutex_unlock(&box->lock);
	if (!result)
		result = await_done(box, answer);
	return result ? result : bytes;
}

static ssize_t launch_write(struct file *file, const char __user *user, size_t bytes,
			    loff_t *position)
{
	return run_request(file->private_data, user, bytes, true);
}

static ssize_t post_write(struct file *file, const char __user *user, size_t bytes,
			  loff_t *position)
{
	return run_request(file->private_data, user, bytes, false);
}

static const struct file_operations launch_operations = {
	.owner = THIS_MODULE,
	.open = answer_open,
	.release = answer_release,
	.read = answer_read,
	.write = launch_write,
	.llseek = default_llseek,
};

static const struct file_operations post_operations = {
	.owner = THIS_MODULE,
	.open = answer_open,
	.release = answer_release,
	.read = answer_read,
	.write = post_write,
	.llseek = default_llseek,
};

/* One `name value` a line. */
static int stats_show(struct seq_file *file, void *unused)
{
	struct hf_mailbox *box = file->private;
	struct hf_counters counters;

	mutex_lock(&box->lock);
	counters = box->counters;
	mutex_unlock(&box->lock);
#define SHOW(name) seq_printf(file, #name " %llu\n", counters.name)
	SHOW(job_reads);
	SHOW(job_shown);
	SHOW(in_reads);
	SHOW(out_writes);
	SHOW(out_refused);
	SHOW(done_writes);
	SHOW(done_accepted);
	SHOW(done_refused_size);
	SHOW(done_refused_magic);
	SHOW(done_refused_crc);
	SHOW(done_refused_seq);
	SHOW(done_refused_out);
	SHOW(launches);
	SHOW(timeouts);
#undef SHOW
	seq_printf(file, "held %d\n", atomic_read(&box->held));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

void hf_control_create(struct hf_mailbox *box, struct dentry *folder)
{
	struct hf_behaviour *behaviour = &box->behaviour;

	debugfs_create_file("launch", 0600, folder, box, &launch_operations);
	debugfs_create_file("post", 0600, folder, box, &post_operations);
	debugfs_create_file("stats", 0400, folder, box, &stats_fops);
	debugfs_create_bool("idle_eagain", 0600, folder, &behaviour->idle_eagain);
	debugfs_create_bool("ignore_offset", 0600, folder, &behaviour->ignore_offset);
	debugfs_create_bool("refuse_small", 0600, folder, &behaviour->refuse_small);
	debugfs_create_bool("keep_job", 0600, folder, &behaviour->keep_job);
	debugfs_create_u32("read_bytes_max", 0600, folder, &behaviour->read_bytes_max);
	debugfs_create_u32("done_failures", 0600, folder, &behaviour->done_failures);
	debugfs_create_u32("wait_ms", 0600, folder, &behaviour->wait_ms);
	debugfs_create_u64("last_seq", 0600, folder, &box->last_seq);
}
