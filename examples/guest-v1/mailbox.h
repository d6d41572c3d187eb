/* A v1 mailbox from the guest's side: jobs go out in one file, and done records come in another. */
#ifndef MAILBOX_H
#define MAILBOX_H

#include <holdfast/records.h>

struct mailbox {
    const char *job_path;
    const char *done_path;
    uint64_t last_seq;      /* of the last job posted, or found answered at the start */
    unsigned int timeout_s; /* longest wait for one done record */
};

/* Begins after the last seq that was answered here, as a producer that starts anew has to. */
void mailbox_open(struct mailbox *box);

/*
 * Posts a job under the next seq and waits for its done record. The caller fills op, n and the
 * addresses; the rest is filled here. 0, or -1 with a line on stderr.
 */
int mailbox_run(struct mailbox *box, struct hf_cubb_job *job, struct hf_cubd_done *done);

#endif
