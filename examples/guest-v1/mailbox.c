#define _GNU_SOURCE
#include "mailbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Between two looks at the done file. */
#define POLL_NS 1000000

static int fail(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return -1;
}

/*
 * Writes the record to a file of another name and gives it the name that the daemon looks at: who
 * opens that name sees all of the record or none of it.
 */
static int job_write(const struct mailbox *box, const struct hf_cubb_job *job)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s.new", box->job_path);
    int file;
    ssize_t written;

    if (length < 0 || (size_t)length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return fail(box->job_path);
    }
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0)
        return fail(path);
    written = write(file, job, sizeof(*job));
    if (close(file) != 0 || written < 0)
        return fail(path);
    if (written != (ssize_t)sizeof(*job)) {
        errno = ENOSPC;
        return fail(path);
    }
    return rename(path, box->job_path) == 0 ? 0 : fail(box->job_path);
}

/* 1 where the done file holds a whole record. The daemon replaces the file: open it each time. */
static int done_read(const struct mailbox *box, struct hf_cubd_done *done)
{
    int file = open(box->done_path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (file < 0)
        return 0;
    got = read(file, done, sizeof(*done));
    close(file);
    return got == (ssize_t)sizeof(*done) && done->magic == HF_CUBD_DONE_MAGIC &&
           done->version == HF_CUBD_DONE_VERSION;
}

void mailbox_open(struct mailbox *box)
{
    struct hf_cubd_done done;

    box->last_seq = done_read(box, &done) ? done.seq : 0;
}

static int done_wait(const struct mailbox *box, struct hf_cubd_done *done)
{
    const struct timespec pause = { .tv_nsec = POLL_NS };
    struct timespec now, start;

    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        if (done_read(box, done) && done->seq == box->last_seq)
            return 0;
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec <= (time_t)box->timeout_s);
    fprintf(stderr, "no done record for seq %llu within %u s\n", (unsigned long long)box->last_seq,
            box->timeout_s);
    return -1;
}

int mailbox_run(struct mailbox *box, struct hf_cubb_job *job, struct hf_cubd_done *done)
{
    job->magic = HF_CUBB_JOB_MAGIC;
    job->version = HF_CUBB_JOB_VERSION;
    job->seq = ++box->last_seq;
    /* Our operands were stored before the job can be seen: the calls below see to that. */
    if (job_write(box, job) != 0)
        return -1;
    if (done_wait(box, done) != 0)
        return -1;
    /* The result is in our memory already. No load of it may be done before this. */
    __sync_synchronize();
    return 0;
}
