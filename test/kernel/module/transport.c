// SPDX-License-Identifier: GPL-2.0
/*
 * The four files of a mailbox: job and in are read by the daemon, out and done written. All of
 * them may be opened at any time; what counts is each call of read(2) and write(2).
 */
#include <linux/debugfs.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "mailbox.h"

static int mailbox_open(struct inode *inode, struct file *file)
{
	struct hf_mailbox *box = inode->i_private;

	file->private_data = box;
	atomic_inc(&box->held);
	return 0;
}

static int mailbox_release(struct inode *inode, struct file *file)
{
	struct hf_mailbox *box = inode->i_private;

	atomic_dec(&box->held);
	return 0;
}

/* A read of `size` bytes at `source`, as the behaviour has it. The caller holds the lock. */
static ssize_t give(const struct hf_behaviour *behaviour, const void *source, size_t size,
		    char __user *user, size_t bytes, loff_t *position)
{
	u32 bytes_max = READ_ONCE(behaviour->read_bytes_max);
	loff_t start = 0;

	if (bytes_max != 0)
		bytes = min_t(size_t, bytes, bytes_max);
	if (READ_ONCE(behaviour->ignore_offset))
		position = &start;
	return simple_read_from_buffer(user, bytes, position, source, size);
}

static ssize_t give_job(struct hf_mailbox *box, char __user *user, size_t bytes, loff_t *position)
{
	if (*position == 0)
		box->counters.job_shown++;
	return give(&box->behaviour, box->job, box->job_bytes, user, bytes, position);
}

static ssize_t job_read(struct file *file, char __user *user, size_t bytes, loff_t *position)
{
	struct hf_mailbox *box = file->private_data;
	const struct hf_behaviour *behaviour = &box->behaviour;
	ssize_t result;

	mutex_lock(&box->lock);
	box->counters.job_reads++;
	if (READ_ONCE(behaviour->refuse_small) && bytes < HF_CUBB2_JOB_BYTES)
		result = -EINVAL;
	else if (!box->is_posted)
		result = READ_ONCE(behaviour->idle_eagain) ? -EAGAIN : 0;
	else
		result = give_job(box, user, bytes, position);
	mutex_unlock(&box->lock);
	return result;
}

static ssize_t in_read(struct file *file, char __user *user, size_t bytes, loff_t *position)
{
	struct hf_mailbox *box = file->private_data;
	ssize_t result;

	mutex_lock(&box->lock);
	box->counters.in_reads++;
	result = give(&box->behaviour, box->in, box->in_bytes, user, bytes, position);
	mutex_unlock(&box->lock);
	return result;
}

/* All of the output, in one call: a second piece is refused, so that a split cannot pass. */
static ssize_t out_write(struct file *file, const char __user *user, size_t bytes, loff_t *position)
{
	struct hf_mailbox *box = file->private_data;
	ssize_t result = bytes;

	mutex_lock(&box->lock);
	box->counters.out_writes++;
	if (!box->is_awaited || box->is_answered)
		result = -ESTALE;
	else if (*position != 0)
		result = -EINVAL;
	else if (bytes > box->out_bytes_wanted)
		result = -ENOSPC;
	else if (copy_from_user(box->out, user, bytes))
		result = -EFAULT;
	else
		box->out_bytes = bytes;
	if (result < 0)
		box->counters.out_refused++;
	mutex_unlock(&box->lock);
	return result;
}

/* What an accepted record does: it wakes whoever launched the job. */
static int take_done(struct hf_mailbox *box, const struct hf_cbd2_done *done)
{
	int result;

	if (box->behaviour.done_failures > 0) {
		box->behaviour.done_failures--;
		return -EIO;
	}
	result = hf_check_done(box, done);
	if (result)
		return result;
	box->done = *done;
	box->is_answered = true;
	box->is_posted = READ_ONCE(box->behaviour.keep_job);
	wake_up_interruptible(&box->answer_wait);
	return 0;
}

static ssize_t done_write(struct file *file, const char __user *user, size_t bytes,
			  loff_t *position)
{
	struct hf_mailbox *box = file->private_data;
	struct hf_cbd2_done done;
	int result = 0;

	if (bytes == HF_CBD2_DONE_BYTES && copy_from_user(&done, user, bytes))
		return -EFAULT;
	mutex_lock(&box->lock);
	box->counters.done_writes++;
	if (bytes != HF_CBD2_DONE_BYTES) {
		box->counters.done_refused_size++;
		result = -EINVAL;
	} else {
		result = take_done(box, &done);
	}
	mutex_unlock(&box->lock);
	return result ? result : bytes;
}

static const struct file_operations job_operations = {
	.owner = THIS_MODULE,
	.open = mailbox_open,
	.release = mailbox_release,
	.read = job_read,
	.llseek = default_llseek,
};

static const struct file_operations in_operations = {
	.owner = THIS_MODULE,
	.open = mailbox_open,
	.release = mailbox_release,
	.read = in_read,
	.llseek = default_llseek,
};

static const struct file_operations out_operations = {
	.owner = THIS_MODULE,
	.open = mailbox_open,
	.release = mailbox_release,
	.write = out_write,
	.llseek = default_llseek,
};

static const struct file_operations done_operations = {
	.owner = THIS_MODULE,
	.open = mailbox_open,
	.release = mailbox_release,
	.write = done_write,
	.llseek = default_llseek,
};

void hf_transport_create(struct hf_mailbox *box, struct dentry *folder)
{
	debugfs_create_file("cuda_bridge_job", 0400, folder, box, &job_operations);
	debugfs_create_file("cuda_bridge_in", 0400, folder, box, &in_operations);
	debugfs_create_file("cuda_bridge_out", 0200, folder, box, &out_operations);
	debugfs_create_file("cuda_bridge_done", 0200, folder, box, &done_operations);
}
